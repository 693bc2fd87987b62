"""Dates, times and durations (RFC 3339)."""

from __future__ import annotations

__all__ = ["DATE", "DATE_TIME", "DURATION", "TIME"]

_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_MONTHS_OF_31 = r"(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
_MONTHS_OF_30 = r"(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
_FEBRUARY = r"02-(?:0[1-9]|1\d|2[0-8])"
DATE = rf"(?:\d{{4}}-(?:{_MONTHS_OF_31}|{_MONTHS_OF_30}|{_FEBRUARY})|{_LEAP_YEAR}-02-29)"

_HOUR = r"(?:[01]\d|2[0-3])"
_MINUTE = r"[0-5]\d"
_FRACTION = r"(?:\.\d+)?"


def _leap_seconds() -> str:
    """``:60`` where the time is 23:59 in UTC, with offsets of whole quarters of an hour: others are not in use.

    Which offsets fit is known from the hour and the minute, so each pair of these must be kept in mind until then.
    """
    hours: list[str] = []
    for hour in range(24):
        minutes: list[str] = []
        for minute in (14, 29, 44, 59):
            ahead, behind = (24 * 60 + hour * 60 + minute - 1439) % 1440, 1439 - hour * 60 - minute
            offsets = [f"\\+{ahead // 60:02}:{ahead % 60:02}", f"-{behind // 60:02}:{behind % 60:02}"]
            if not ahead:
                offsets.append("[Zz]")
            minutes.append(f"{minute:02}:60{_FRACTION}(?:{'|'.join(offsets)})")
        hours.append(f"{hour:02}:(?:{'|'.join(minutes)})")
    return "|".join(hours)


TIME = rf"(?:{_HOUR}:{_MINUTE}:{_MINUTE}{_FRACTION}(?:[Zz]|[+-]{_HOUR}:{_MINUTE})|{_leap_seconds()})"  # ``full-time``
DATE_TIME = f"{DATE}[Tt]{TIME}"

_MINUTES = r"\d+M(?:\d+S)?"
_TIME_PART = rf"T(?:\d+H(?:{_MINUTES})?|{_MINUTES}|\d+S)"
_MONTHS = r"\d+M(?:\d+D)?"
DURATION = rf"P(?:(?:\d+Y(?:{_MONTHS})?|{_MONTHS}|\d+D)(?:{_TIME_PART})?|{_TIME_PART}|\d+W)"
