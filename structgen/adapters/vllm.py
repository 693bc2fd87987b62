"""Grammars with the surface of vLLM's structured output (``vllm.v1.structured_output.backend_types``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch

from structgen.adapters.bits import WORD
from structgen.adapters.history import History
from structgen.grammars import (
    TokenAutomaton,
    TokenVocabulary,
    compile_choice,
    compile_ebnf,
    compile_json_schema,
    compile_lark,
    compile_regex,
    compile_structural_tag,
)

__all__ = ["RequestType", "VllmBackend", "VllmGrammar"]


class VllmGrammar:
    """What vLLM asks of a ``StructuredOutputGrammar``: one request's place in its grammar.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar, compiled against the model's vocabulary.
    """

    def __init__(self, automaton: TokenAutomaton) -> None:
        self._history = History(automaton)

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Take these tokens, or none of them where one is not allowed; returns whether they were taken."""
        return self._history.take(tokens)

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Those of these tokens, from the first on, that may come next; takes none."""
        return tokens[: len(self._history.following(tokens))]

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens, an end token among them if it was.

        Raises
        ------
        ValueError
            Fewer were taken.
        """
        self._history.take_back(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write which tokens may come next into a row of ``bitmask``, int32[rows, words] on the CPU."""
        self._history.fill(bitmask, batch_index)

    def is_terminated(self) -> bool:
        """Whether an end token was taken."""
        return self._history.is_finished

    def reset(self) -> None:
        """Begin again."""
        self._history.clear()

    def find_jump_string(self) -> str | None:
        """The text that must come next, if there is any."""
        return self._history.forced_text() or None


class RequestType(Protocol):
    """What vLLM's ``StructuredOutputOptions`` are told apart by."""

    @property
    def name(self) -> str:
        """``"JSON"``, ``"JSON_OBJECT"``, ``"REGEX"``, ``"GRAMMAR"``, ``"CHOICE"`` or ``"STRUCTURAL_TAG"``."""
        ...


class VllmBackend:
    """What vLLM asks of a ``StructuredOutputBackend``.

    Parameters
    ----------
    vocabulary : TokenVocabulary
        The model's tokens.
    vocab_size : int
        Width of the model's logits.
    """

    def __init__(self, vocabulary: TokenVocabulary, vocab_size: int) -> None:
        self._vocabulary = vocabulary
        self._words = -(-max(vocab_size, len(vocabulary)) // WORD)

    def compile_grammar(self, request_type: RequestType, grammar_spec: str) -> VllmGrammar:
        """The grammar of one request.

        Parameters
        ----------
        request_type : RequestType
            What ``grammar_spec`` is.
        grammar_spec : str
            The text that vLLM makes of a request: JSON for schemas, choices and structural tags.

        Raises
        ------
        GrammarError
            It cannot be compiled.
        ValueError
            There is no such type of request, or the text is not JSON.
        """
        compile_spec = _COMPILERS.get(request_type.name)
        if compile_spec is None:
            raise ValueError(f"{request_type.name} is no type of request; there is {', '.join(_COMPILERS)}")
        return VllmGrammar(compile_spec(grammar_spec, self._vocabulary))

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Masks that allow everything, int32[max_num_seqs, ceil(vocab_size/32)]."""
        return torch.full((max_num_seqs, self._words), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Nothing has to be given back: what was compiled goes with its last grammar."""


def _grammar(text: str, vocabulary: TokenVocabulary) -> TokenAutomaton:
    """EBNF or Lark: only the former defines rules by ``::=``."""
    return compile_ebnf(text, vocabulary) if "::=" in text else compile_lark(text, vocabulary)


def _parsed(compile_value: Callable[[Any, TokenVocabulary], TokenAutomaton]) -> _Compile:
    return lambda text, vocabulary: compile_value(json.loads(text), vocabulary)


_Compile = Callable[[str, TokenVocabulary], TokenAutomaton]
_COMPILERS: Mapping[str, _Compile] = {
    "JSON": _parsed(compile_json_schema),
    "JSON_OBJECT": lambda _, vocabulary: compile_json_schema({"type": "object"}, vocabulary),
    "REGEX": compile_regex,
    "GRAMMAR": _grammar,
    "CHOICE": _parsed(compile_choice),
    "STRUCTURAL_TAG": _parsed(compile_structural_tag),
}
