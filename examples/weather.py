"""A question in, a validated object out. Run by `make demo`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

import structgen


class WeatherQuery(BaseModel):
    city: str
    unit: Literal["celsius", "fahrenheit"] = "celsius"


llm = structgen.LLM("smollm2-135m")
query = llm.generate("What's the weather in Stockholm?", schema=WeatherQuery)
print(repr(query))
