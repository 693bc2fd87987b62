"""IP addresses and the names of hosts."""

from __future__ import annotations

__all__ = ["IPV4", "IPV6", "LABEL", "LONGEST_NAME", "PLAIN_LABEL"]

_OCTET = r"(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])"
IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"


def _ipv6() -> str:
    """RFC 4291: eight groups, one run of them left out at most, the last two as an IPv4 address."""
    group = "[0-9A-Fa-f]{1,4}"
    last = f"(?:{group}:{group}|{IPV4})"
    ways = [f"(?:{group}:){{6}}{last}"]
    for before in range(8):
        start = f"{group}(?::{group}){{{before - 1}}}" if before else ""
        after = 7 - before  # groups that may follow, so that one at least is left out
        ends = [""]
        if after >= 1:
            ends.append(group)
        if after >= 2:
            ends.append(f"(?:{group}:){{0,{after - 2}}}{last}")
        ways.append(f"{start}::(?:{'|'.join(ends)})")
    return f"(?:{'|'.join(ways)})"


IPV6 = _ipv6()

LONGEST_NAME = 253
"""Characters of a host's name, without the last dot that a resolver adds."""

_LETTER, _INSIDE = "[A-Za-z0-9]", "[A-Za-z0-9-]"

LABEL = f"{_LETTER}(?:{_INSIDE}{{0,61}}{_LETTER})?"
"""One label of a host's name (RFC 1123): letters, digits and hyphens inside, at most 63."""

_FROM_THIRD = f"{_LETTER}(?:{_INSIDE}{{0,59}}{_LETTER})?|-{_LETTER}(?:{_INSIDE}{{0,58}}{_LETTER})?"

PLAIN_LABEL = f"{_LETTER}(?:{_LETTER}|{_INSIDE}(?:{_FROM_THIRD}))?"
"""One without hyphens in third and fourth place.

Those begin a name that is encoded (RFC 5890), which must be a valid one; no automaton of reasonable size can tell.
"""
