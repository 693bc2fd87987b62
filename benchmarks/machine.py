"""What a number is worth nothing without: the machine that it was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import structgen


def describe_machine() -> dict[str, object]:
    """Return the hardware, the versions and how busy the machine is."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "structgen_version": structgen.__version__,
        "python_version": platform.python_version(),
    }
