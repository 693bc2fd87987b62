"""What the formats are, from which the file of their automata is made.

    python -m structgen.grammars.json_schema.formats.definitions > structgen/grammars/json_schema/formats/formats.txt

writes it anew; a test says when that is due.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from structgen.grammars.json_schema.formats import (
    addresses,
    dates,
    international,
    mail,
    patterns,
    pointers,
    table,
    uris,
)
from structgen.grammars.language import Language
from structgen.grammars.regex.ecma import ecma_language

__all__ = ["DEFINITIONS"]


def _of(pattern: str, longest: int | None = None) -> Language:
    return ecma_language(f"^(?:{pattern})$") & Language.length(0, longest)


def _host(label: str) -> Language:
    return _of(rf"(?:{label})(?:\.(?:{label}))*", addresses.LONGEST_NAME)


DEFINITIONS: dict[str, Callable[[], Language]] = {
    "date": partial(_of, dates.DATE),
    "date-time": partial(_of, dates.DATE_TIME),
    "duration": partial(_of, dates.DURATION),
    "email": partial(_of, mail.email(), mail.LONGEST_ADDRESS),
    "hostname": partial(_host, addresses.PLAIN_LABEL),
    "hostname before Punycode": partial(_host, addresses.LABEL),
    "idn-email": international.idn_email,
    "idn-hostname": international.idn_host,
    "ipv4": partial(_of, addresses.IPV4),
    "ipv6": partial(_of, addresses.IPV6),
    "iri": partial(_of, uris.uri(uris.WIDER, uris.PRIVATE)),
    "iri-reference": partial(_of, uris.uri(uris.WIDER, uris.PRIVATE, relative=True)),
    "json-pointer": partial(_of, pointers.POINTER),
    "regex": partial(_of, patterns.REGEX),
    "relative-json-pointer": partial(_of, pointers.RELATIVE_POINTER),
    "time": partial(_of, dates.TIME),
    "uri": partial(_of, uris.uri()),
    "uri-reference": partial(_of, uris.uri(relative=True)),
    "uri-template": partial(_of, uris.URI_TEMPLATE),
    "uuid": partial(_of, pointers.UUID),
}
"""By the key under which the file has them."""


if __name__ == "__main__":
    for key, define in DEFINITIONS.items():
        print(table.line_of(key, define()))
