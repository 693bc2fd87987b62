"""The exception tree as a whole."""

from __future__ import annotations

import inspect
import pickle

import pytest

import structgen
from structgen import errors
from structgen.errors import AnswerCut, AnswerRefused, StructgenError

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_is_public_in_the_package_and_drawn_in_the_tree(kind: type[Exception]):
    assert issubclass(kind, StructgenError)
    assert kind.__name__ in errors.__all__
    assert getattr(structgen, kind.__name__) is kind
    assert kind.__name__ in (errors.__doc__ or "").split()


@pytest.mark.parametrize("kind", [AnswerCut, AnswerRefused])
def test_an_unusable_answer_shows_its_message_and_keeps_its_text(kind: type[errors.AnswerError]):
    error = pickle.loads(pickle.dumps(kind("cut", "the te")))
    assert (str(error), error.text) == ("cut", "the te")
