"""Structural tags: prose, tags and what stands inside of them, a whole turn of an assistant, as one automaton.

::

    {"type": "structural_tag", "format": {"type": "triggered_tags",
        "triggers": ["<function="],
        "tags": [{"begin": "<function=search>", "content": {"type": "json_schema", "json_schema": {...}},
                  "end": "</function>"}]}}

A format is an object with a ``type``. What is fixed:

- ``const_string`` (``value``), ``regex`` (``pattern``, Python's), ``json_schema`` (``json_schema``; ``any_order``;
  ``max_whitespace_cnt`` 0 for none), ``grammar`` (``grammar``; ``syntax``: ``ebnf``, XGrammar's, or another front
  end), ``token`` (``token``).

What combines: ``sequence`` and ``or`` (``elements``), ``optional``, ``star``, ``plus`` (``content``), ``repeat``
(``min``, ``max``, -1 without end).

What stands in tags: ``tag`` (``begin``, ``content``, ``end``: one or several), ``tags_with_separator`` (``tags``,
``separator``, ``at_least_one``, ``stop_after_first``), ``reasoning`` (``begin``, ``end``: by default ``<think>`` and
``</think>``; up to two line feeds may follow; an empty ``begin`` is one that the prompt has written).

What is prose:

- ``any_text`` (``excludes``): any UTF-8 text in which none of these occurs.
- ``triggered_tags`` (``triggers``, ``tags``, ``excludes``, ``at_least_one``, ``stop_after_first``): prose, in which a
  trigger begins one of the tags that begin with it, and nothing else. Prose may stand before, between and after tags.
- ``dispatch`` (``rules``: pairs of a trigger and a format that follows it; ``loop``, ``excludes``): the same.
- ``any_tokens``, ``token_triggered_tags``, ``token_dispatch`` (``exclude_tokens`` and the like): the same with special
  tokens, all others of which may stand in the prose.

Where prose ends is decided from the left: by the first trigger that is complete, or the first end of the tag that the
prose stands in, however these overlap one another or themselves. Of two that are complete at once either may be meant.
Prose directly in a tag never holds an end of that tag.

A special token is written ``{"type": "token", "token": ID_OR_NAME}`` wherever a trigger, a beginning or an end may be a
text. It is never its text, and its text is never the token. End tokens end the answer, and cannot stand inside.

Nothing is ignored: fields and formats that are not known, or known and not supported (``max_tokens``, ``max_chars``,
styles other than JSON, ``exclude_token``), are refused with their JSON pointer. A field of ``null`` is not there.
"""

from structgen.grammars.structural_tag.compile import compile_structural_tag

__all__ = ["compile_structural_tag"]
