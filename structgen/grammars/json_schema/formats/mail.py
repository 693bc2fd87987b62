"""Addresses of mailboxes (RFC 5321)."""

from __future__ import annotations

from structgen.grammars.json_schema.formats.addresses import IPV4, IPV6, PLAIN_LABEL

__all__ = ["LITERAL", "LONGEST_ADDRESS", "email", "local_part"]

LONGEST_ADDRESS = 254
"""Characters of an address that fits into a path of 256 (RFC 5321, 4.5.3.1.3, with erratum 1690)."""

LITERAL = rf"\[(?:{IPV4}|IPv6:{IPV6})\]"
"""An address in place of a domain."""

_ATOM = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_QUOTED = r" !#-\[\]-~"


def local_part(wider: str = "", octets: int = 1) -> str:
    """What is before the ``@``; where it is quoted, and not without escapes and in ASCII, at most half of 64 octets.

    Parameters
    ----------
    wider : str
        Ranges of characters that may be there beyond those of RFC 5321.
    octets : int
        How many octets such a character has at most.
    """
    atom = f"[{_ATOM}{wider}]+"
    mixed = rf"(?:[{_QUOTED}{wider}]|\\[ -~]){{0,{min(31, 62 // octets)}}}"
    return rf'(?:{atom}(?:\.{atom})*|"(?:[{_QUOTED}]{{0,62}}|{mixed})")'


def email() -> str:
    """The pattern of an address."""
    domain = rf"(?:{PLAIN_LABEL})(?:\.(?:{PLAIN_LABEL}))*|{LITERAL}"
    return f'(?=[^"@]{{1,64}}@|"){local_part()}@(?:{domain})'
