"""Every error that structgen raises on purpose.

::

    StructgenError
    ├── GrammarError                 a grammar cannot be had
    │   ├── SchemaError              one place of a JSON Schema
    │   │   ├── InvalidSchema        the JSON Schema itself is malformed
    │   │   ├── UnsupportedSchema    a keyword that cannot be held exactly
    │   │   └── UnsatisfiableSchema  no text can match
    │   ├── InvalidGrammar           a source or an option is not what the front end takes
    │   ├── UnsupportedGrammar       well formed, but a rule or terminal cannot be held exactly
    │   ├── InvalidRegex             malformed, or not a regular language
    │   │   └── UnsupportedRegex     well formed, but it cannot be held
    │   ├── EmptyLanguage            no text can match a grammar that is no schema
    │   └── GrammarLimitExceeded     time, states or memory ran out
    ├── MatcherClosed                a state used after its matcher was closed
    ├── ModelError                   a model cannot be had
    │   ├── ModelNotFound            no such model, file or folder
    │   ├── InvalidModelFile         truncated, corrupt or incomplete
    │   ├── UnsupportedModel         an architecture, tensor type or tokenizer we cannot run
    │   ├── DownloadError            network, disk or checksum
    │   └── OutOfMemory              its weights or its cache do not fit
    ├── RequestError                 one request cannot be served as asked
    │   ├── InvalidRequest           an argument is wrong
    │   ├── PromptTooLong            prompt and answer do not fit the model
    │   ├── BudgetTooSmall           ``max_tokens`` is below every valid answer
    │   └── EngineClosed             the engine has ended and takes no more requests
    ├── GenerationError              a request began and could not be finished
    │   ├── DeadlineExceeded         its time was over
    │   ├── BatchFailed              some answers of several cannot be had; it has the others
    │   └── AnswerError              there is an answer, and it cannot be used
    │       ├── AnswerCut            the budget ended inside the answer
    │       └── AnswerRefused        the caller's own validation refused every draw
    ├── ToolError                    a function cannot be a tool, or a call does not fit it
    └── PluginError                  a plugin is missing, broken or registered twice

Each message says what was wrong, where (a file, a JSON pointer, a field) and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import Self

__all__ = [
    "AnswerCut",
    "AnswerError",
    "AnswerRefused",
    "BatchFailed",
    "BudgetTooSmall",
    "DeadlineExceeded",
    "DownloadError",
    "EmptyLanguage",
    "EngineClosed",
    "GenerationError",
    "GrammarError",
    "GrammarLimitExceeded",
    "InvalidGrammar",
    "InvalidModelFile",
    "InvalidRegex",
    "InvalidRequest",
    "InvalidSchema",
    "MatcherClosed",
    "ModelError",
    "ModelNotFound",
    "OutOfMemory",
    "PluginError",
    "PromptTooLong",
    "RequestError",
    "SchemaError",
    "StructgenError",
    "ToolError",
    "UnsatisfiableSchema",
    "UnsupportedGrammar",
    "UnsupportedModel",
    "UnsupportedRegex",
    "UnsupportedSchema",
]


class StructgenError(Exception):
    """Base of everything structgen raises on purpose."""


class GrammarError(StructgenError):
    """A grammar cannot be compiled."""


class SchemaError(GrammarError):
    """Something about one place of a JSON Schema.

    Parameters
    ----------
    pointer : str
        JSON pointer of the place, ``""`` for the root.
    why : str
        What is wrong there and what to do about it.
    """

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(pointer, why)
        self.pointer = pointer
        self.why = why

    def __str__(self) -> str:
        return f"{type(self).__name__} at {self.pointer or 'the root'}: {self.why}"

    def below(self, pointer: str) -> Self:
        """The same error where the schema stands at ``pointer`` in something larger."""
        return type(self)(pointer + self.pointer, *self.args[1:])


class InvalidSchema(SchemaError):
    """The schema is malformed: a keyword has a value that the specification does not allow."""


class UnsatisfiableSchema(SchemaError):
    """No JSON value can match: the schema is unsatisfiable."""


class UnsupportedSchema(SchemaError):
    """A keyword that cannot be held exactly; it is refused rather than relaxed.

    Parameters
    ----------
    pointer : str
        JSON pointer of the keyword.
    keyword : str
        Its name.
    why : str
        Why it is refused and what to do instead.
    """

    def __init__(self, pointer: str, keyword: str, why: str) -> None:
        super().__init__(pointer, why)
        self.args = (pointer, keyword, why)  # so that pickle can rebuild it
        self.keyword = keyword

    def __str__(self) -> str:
        return f"UnsupportedSchema at {self.pointer or 'the root'}: {self.keyword!r}: {self.why}"


class InvalidGrammar(GrammarError, ValueError):
    """A grammar's source or an option is not what its front end takes."""


class UnsupportedGrammar(GrammarError):
    """A grammar is well formed, but one of its rules or terminals, which is named, cannot be held exactly."""


class InvalidRegex(GrammarError):
    """A pattern is malformed or uses what no regular language has."""


class UnsupportedRegex(InvalidRegex):
    """A pattern is well formed, but uses what no regular language has, or what is not held."""


class EmptyLanguage(GrammarError):
    """No text matches."""


class GrammarLimitExceeded(GrammarError):
    """A grammar needs more time, states or memory than its limits allow."""


class MatcherClosed(StructgenError):
    """A matcher was used after ``close()``; its states are gone."""


class ModelError(StructgenError):
    """A model cannot be found, read or run."""


class ModelNotFound(ModelError):
    """No model of that name, file or folder."""


class InvalidModelFile(ModelError):
    """A model file is truncated, corrupt or incomplete."""


class UnsupportedModel(ModelError):
    """A well-formed model that this version cannot run."""


class DownloadError(ModelError):
    """A model could not be fetched whole: network, disk or checksum."""


class OutOfMemory(ModelError):
    """There is no memory for a model's weights or its cache; the message says what would fit."""


class RequestError(StructgenError):
    """A request cannot be served as asked."""


class InvalidRequest(RequestError, ValueError):
    """An argument of a request is wrong."""


class PromptTooLong(RequestError):
    """The prompt and the tokens asked for do not fit the model's context."""


class BudgetTooSmall(RequestError):
    """``max_tokens`` is smaller than the shortest valid answer."""


class EngineClosed(RequestError):
    """The engine has ended; whatever the request is, another engine must take it."""


class GenerationError(StructgenError):
    """A request that began could not be finished."""


class DeadlineExceeded(GenerationError):
    """A request's ``timeout`` passed before its answer was finished."""


class BatchFailed(GenerationError):
    """Some answers of several cannot be had; all were tried before this was raised.

    Its ``__cause__`` is the first of the errors.

    Parameters
    ----------
    results : list
        What would have been returned, with an error in the place of each answer that cannot be had.
    errors : sequence of StructgenError
        These errors, in order; at least one.
    total : int
        Number of answers that were asked for.
    """

    def __init__(self, results: list[object], errors: Sequence[StructgenError], total: int) -> None:
        super().__init__(results, errors, total)
        self.results = results
        self.errors = list(errors)
        self.total = total
        self.__cause__ = self.errors[0]

    def __str__(self) -> str:
        first = f"{type(self.errors[0]).__name__}: {self.errors[0]}"
        return (
            f"{len(self.errors)} of {self.total} answers cannot be had (the others are in this error's `results`); "
            f"the first because of {first}"
        )


class AnswerError(GenerationError):
    """There is an answer, and it cannot be used.

    Parameters
    ----------
    message : str
        What is wrong with it and what to do.
    text : str
        The answer, as far as it was written.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message, text)
        self.text = text

    def __str__(self) -> str:
        return str(self.args[0])


class AnswerCut(AnswerError):
    """The token budget or a stop string ended inside an answer that was not yet complete."""


class AnswerRefused(AnswerError):
    """Every draw was well-formed and the caller's own validation refused it; ``text`` is the last one."""


class ToolError(StructgenError):
    """A function cannot be a tool, or a call does not fit its signature."""


class PluginError(StructgenError):
    """A plugin is missing, fails to load, or its name is taken."""
