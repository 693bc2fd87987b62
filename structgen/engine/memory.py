"""Amounts of memory: how much is free here, and how people write them."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["available_memory", "format_size", "parse_size"]

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_SIZE = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})")
_CGROUP = Path("/sys/fs/cgroup")


def parse_size(size: int | str) -> int:
    """Return bytes from a number of them or a text such as ``"1GiB"``, ``"1.5 GB"``.

    Raises
    ------
    ValueError
        It is neither, or not above 0.
    """
    if isinstance(size, str):
        found = _SIZE.fullmatch(size.strip())
        size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError("expected a number of bytes above 0, or a text such as '1GiB'")
    return size


def format_size(size: int) -> str:
    """Return bytes as a text: ``"1.5 GiB"``."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.4g} {unit}"
    return f"{size} B"


def available_memory() -> int:
    """Return the bytes that this process may take: what the system has left, or its control group if that is less."""
    amounts = [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        amounts = [int(line.split()[1]) * 1024 for line in meminfo.read_text().splitlines() if "MemAvailable" in line]
    limit, used = _CGROUP / "memory.max", _CGROUP / "memory.current"
    if limit.exists() and limit.read_text().strip() != "max":
        amounts.append(int(limit.read_text()) - int(used.read_text()))
    return max(0, min(amounts))
