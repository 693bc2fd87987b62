"""Amounts of memory: how much is free here, and how people write them."""

from __future__ import annotations

import os
import re
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None

__all__ = ["MemoryLimits", "available_memory", "format_size", "parse_size"]

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_SIZE = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})")


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


class MemoryLimits:
    """What bounds the memory of this process: the system, its control group, its limit of address space.

    Parameters
    ----------
    proc : Path
        Where the system's numbers are: ``meminfo`` and ``self/statm``.
    cgroup : Path
        The folder of the control group, of version 2: ``memory.max`` and ``memory.current``.
    """

    def __init__(self, proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> None:
        self._proc = proc
        self._cgroup = cgroup

    def available(self) -> int:
        """Return the bytes that may still be taken, by that bound which leaves least."""
        amounts = [self._of_system(), self._of_group(), self._of_address_space()]
        return max(0, min(amount for amount in amounts if amount is not None))

    def _of_system(self) -> int:
        meminfo = self._proc / "meminfo"
        if meminfo.exists():
            for line in meminfo.read_text().splitlines():
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    def _of_group(self) -> int | None:
        limit, used = self._cgroup / "memory.max", self._cgroup / "memory.current"
        if not limit.exists() or limit.read_text().strip() == "max":
            return None
        return int(limit.read_text()) - int(used.read_text())

    def _of_address_space(self) -> int | None:
        """``ulimit -v``, less what is mapped, touched or not."""
        mapped = self._proc / "self" / "statm"
        if resource is None or not mapped.exists():
            return None
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        return limit - int(mapped.read_text().split()[0]) * resource.getpagesize()


def available_memory() -> int:
    """Return the bytes that this process may still take (see :class:`MemoryLimits`)."""
    return MemoryLimits().available()
