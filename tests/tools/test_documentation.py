import pytest

from structgen.tools.documentation import read_docstring

NUMPY = """Look up the weather.

    Only for today: no forecasts.

    Parameters
    ----------
    city, town : str
        Where: a place's name.
    *rest : int
        The rest.

    Other Parameters
    ----------------
    unit : str
        Of the answer.

    Returns
    -------
    float
        Degrees.
    """

GOOGLE = """Look up the weather.

    Only for today: no forecasts.

    Args:
        city (str): Where: a place's name.
        town: Where: a place's name.
        *rest: The rest.

    Keyword Args:
        unit: Of the answer.

    Returns:
        Degrees.
    """

SPHINX = """Look up the weather.

    Only for today: no forecasts.

    :param str city: Where: a place's name.
    :param town: Where: a place's name.
    :param rest: The rest.
    :param unit: Of the answer.
    :type unit: str
    :returns: Degrees.
    """

NAMES = ("city", "town", "rest", "unit")


@pytest.mark.parametrize("docstring", [NUMPY, GOOGLE, SPHINX], ids=["numpy", "google", "sphinx"])
@pytest.mark.parametrize("indented", [True, False], ids=["as before 3.13", "as since 3.13"])
def test_the_three_styles_say_the_same(docstring, indented):
    if not indented:
        docstring = docstring.replace("\n    ", "\n")
    description, parameters = read_docstring(docstring, NAMES)
    assert description == "Look up the weather.\n\nOnly for today: no forecasts."
    assert parameters == {
        "city": "Where: a place's name.",
        "town": "Where: a place's name.",
        "rest": "The rest.",
        "unit": "Of the answer.",
    }


@pytest.mark.parametrize(
    ("docstring", "description"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        ("Two lines\nof summary.", "Two lines\nof summary."),
        ("Prose: with a colon.\n\nNote:\n    and a section.", "Prose: with a colon.\n\nNote:\n    and a section."),
        ("Nothing to give.\n\nReturns:\n    int: a number", "Nothing to give."),
        ("Nothing to give.\n\nReturns\n-------\nint", "Nothing to give."),
        ("Nothing to give.\n\n:returns: a number", "Nothing to give."),
        (":param", ":param"),
    ],
)
def test_the_description_is_the_prose(docstring, description):
    assert read_docstring(docstring, ()) == (description, {})


def test_only_the_functions_own_parameters_are_kept():
    assert read_docstring("Do.\n\nArgs:\n    x: Yes.\n    y: No.", ("x",)).parameters == {"x": "Yes."}
