"""A schema that no grammar holds whole, small enough for a model of random weights to meet it."""

PAIR = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"x": {"enum": [1, 2]}},
        "required": ["x"],
        "additionalProperties": False,
    },
    "uniqueItems": True,
    "minItems": 2,
    "maxItems": 2,
}
