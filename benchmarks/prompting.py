"""How often SmolLM2-135M says the right thing, by how it is told about the form of its answer.

    python benchmarks/prompting.py [--model smollm2-135m] [--phrasings form schema ...]

Every answer is of the right form, because the grammar holds it; what differs is its content. The questions are asked
at temperature 0. Shares of right answers for each kind of question go to results/prompting.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter

from structgen import LLM, SamplingParams
from structgen.llm.instructions import describe_schema

RESULTS = Path(__file__).parent / "results" / "prompting.csv"


class WeatherQuery(BaseModel):  # noqa: D101 (its docstring would be shown to the model)
    city: str
    unit: Literal["celsius", "fahrenheit"] = "celsius"


class Person(BaseModel):  # noqa: D101 (its docstring would be shown to the model)
    name: str
    age: int
    city: str = Field(description="where the person lives")


class Review(BaseModel):  # noqa: D101 (its docstring would be shown to the model)
    sentiment: Literal["positive", "negative"]


class Capital(BaseModel):  # noqa: D101 (its docstring would be shown to the model)
    country: str
    capital: str


class Case(NamedTuple):
    """A question and the values that a right answer has."""

    kind: type[BaseModel]
    question: str
    right: dict[str, object]


PEOPLE = [("Alice", 30, "Paris"), ("Bruno", 45, "Oslo"), ("Hiro", 19, "Kyoto"), ("Nadia", 62, "Cairo")]
CASES = [
    *(
        Case(WeatherQuery, question, {"city": city})
        for question, city in (
            ("What's the weather in Stockholm?", "Stockholm"),
            ("How warm is it in Paris today?", "Paris"),
            ("Will it rain in Tokyo tomorrow?", "Tokyo"),
            ("weather in New York in fahrenheit", "New York"),
            ("I'm flying to Nairobi, what should I wear?", "Nairobi"),
            ("Is it cold in Reykjavik?", "Reykjavik"),
            ("Tell me the temperature in Buenos Aires.", "Buenos Aires"),
            ("Do I need an umbrella in London?", "London"),
            ("How hot does it get in Cairo?", "Cairo"),
            ("weather for Hanoi", "Hanoi"),
            ("Give me Berlin's weather in celsius", "Berlin"),
            ("Is it snowing in Toronto?", "Toronto"),
            ("What's the forecast for São Paulo?", "São Paulo"),
            ("Current conditions in Sydney please", "Sydney"),
        )
    ),
    *(
        Case(
            Person,
            f"My name is {name} and I am {age} years old. I live in {city}.",
            {"name": name, "age": age, "city": city},
        )
        for name, age, city in PEOPLE
    ),
    Case(Review, "The food was wonderful and the staff were kind.", {"sentiment": "positive"}),
    Case(Review, "I hated this film, two hours wasted.", {"sentiment": "negative"}),
    Case(Review, "Terrible service, never again.", {"sentiment": "negative"}),
    Case(Review, "Best phone I have ever owned!", {"sentiment": "positive"}),
    Case(Capital, "What is the capital of France?", {"capital": "Paris"}),
    Case(Capital, "What is the capital of Japan?", {"capital": "Tokyo"}),
    Case(Capital, "What's the capital of Germany?", {"capital": "Berlin"}),
]


def as_keys(schema: dict[str, Any]) -> str:
    properties: dict[str, dict[str, Any]] = schema["properties"]
    return "\n".join(f"- {name}: {describe_schema(part).partition(chr(10))[2]}" for name, part in properties.items())


def form_of(schema: dict[str, Any]) -> str:
    return describe_schema(schema).partition("\n")[2]


PHRASINGS: dict[str, Callable[[dict[str, Any]], str]] = {
    "form": describe_schema,
    "nothing": lambda schema: "",
    "schema": lambda schema: f"Answer with JSON that matches this schema:\n{json.dumps(schema)}",
    "keys": lambda schema: f"Answer with a JSON object with these keys:\n{as_keys(schema)}",
    "like": lambda schema: f"Answer in JSON, like this:\n{form_of(schema)}",
    "one line": lambda schema: f"Answer with one line of JSON of this form:\n{form_of(schema)}",
    "extract": lambda schema: f"Extract the data from the message as a JSON object of this form:\n{form_of(schema)}",
    "titled": lambda schema: f"You turn the user's message into a {schema['title']} in JSON: {form_of(schema)}",
}
"""``form`` is what structgen says."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--phrasings", nargs="+", choices=list(PHRASINGS), default=list(PHRASINGS))
    arguments = parser.parse_args()
    kinds = list(dict.fromkeys(case.kind for case in CASES))
    rows = []
    with LLM(arguments.model) as llm:
        for name in arguments.phrasings:
            started = time.perf_counter()
            right = {kind: share_right(llm, kind, PHRASINGS[name]) for kind in kinds}
            total = sum(int(share.split("/")[0]) for share in right.values())
            rows.append(
                {"phrasing": name, "right": f"{total}/{len(CASES)}", **{k.__name__: v for k, v in right.items()}}
            )
            print(*rows[-1].values(), f"{time.perf_counter() - started:.0f} s", sep="\t")
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "model", "machine"])
        writer.writeheader()
        writer.writerows({**row, "model": arguments.model, "machine": platform.machine()} for row in rows)


def share_right(llm: LLM, kind: type[BaseModel], phrase: Callable[[dict[str, Any]], str]) -> str:
    """Ask the questions of one kind, told in one way; return right answers of all as ``"3/4"``."""
    cases = [case for case in CASES if case.kind is kind]
    told = phrase(TypeAdapter(kind).json_schema())
    system = [{"role": "system", "content": told}] if told else []
    conversations = [[*system, {"role": "user", "content": case.question}] for case in cases]
    params = SamplingParams(max_tokens=60)
    answers = llm.chat(conversations, schema=kind, show_schema=False, sampling_params=params)
    right = sum(is_right(answer, case) for answer, case in zip(answers, cases, strict=True))
    return f"{right}/{len(cases)}"


def is_right(answer: BaseModel, case: Case) -> bool:
    return all(getattr(answer, name) == value for name, value in case.right.items())


if __name__ == "__main__":
    main()
