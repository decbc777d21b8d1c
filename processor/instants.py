"""Instants: whole nanoseconds since 1970, read from RFC 3339 and shown in it. A nanosecond later is later."""

from datetime import date, datetime
from functools import lru_cache
from typing import Final

NS: Final = 1_000_000_000
DAY: Final = 86_400 * NS
EPOCH: Final = datetime(1970, 1, 1)
YEAR_1: Final = -62_135_596_800  # seconds
YEAR_10000: Final = 253_402_300_800
NEARLY_A_DAY: Final = 23 * 3_600 + 59 * 60


def instant(text: str) -> int:
    """Nanoseconds since 1970 of a timestamp that has the schema's pattern; digits past the ninth are cut.

    Raises ValueError for what is no real day or time. ":60" is "only the leap second 23:59:60 UTC, counted as the
    second after it".
    """
    leap = text[17:19] == "60"
    since = datetime.fromisoformat(text[:17] + "59" if leap else text[:19]) - EPOCH
    if text[11:13] == "24":
        raise ValueError("hour must be in 0..23")
    seconds: int = since.days * 86_400 + since.seconds + leap
    fraction, zone = (text[19:-1], "") if text[-1] == "Z" else (text[19:-6], text[-6:])
    if zone:
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            raise ValueError("offset must be within 23:59")
        offset = hours * 3_600 + minutes * 60
        seconds += offset if zone[0] == "-" else -offset
    if leap and seconds % 86_400 != 0:
        raise ValueError("second must be in 0..59, or the leap second 23:59:60 UTC")
    return seconds * NS + (int(fraction[1:10].ljust(9, "0")) if fraction else 0)


def show(at: int) -> str:
    """RFC 3339, "in UTC with Z and no trailing zeros".

    The years of the text are 0001 to 9999; an offset can put the instant up to a day outside them in UTC. Such an
    instant is shown at the offset that brings it back, so that every reader of timestamps can read it.
    """
    seconds, fraction = divmod(at, NS)
    zone = "Z"
    if seconds >= YEAR_10000:
        seconds, zone = seconds - NEARLY_A_DAY, "-23:59"
    elif seconds < YEAR_1:
        seconds, zone = seconds + NEARLY_A_DAY, "+23:59"
    days, second = divmod(seconds, 86_400)
    text = _day(days) + _time(second)
    return f"{text}.{fraction:09d}".rstrip("0") + zone if fraction else text + zone


@lru_cache(maxsize=4_096)
def _day(days: int) -> str:
    return date.fromordinal(EPOCH.toordinal() + days).isoformat()


@lru_cache(maxsize=86_400)
def _time(second: int) -> str:
    return f"T{second // 3_600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def days(duration: int) -> float:
    """Nanoseconds in days, with two decimals; never -0.0."""
    return round(duration / DAY, 2) + 0.0


def show_recorded(timestamp: int | None) -> str | None:
    """A record's timestamp (milliseconds since 1970); None where it has none, or one that no calendar has."""
    if timestamp is None or not YEAR_1 <= timestamp // 1_000 < YEAR_10000:
        return None
    seconds, milliseconds = divmod(timestamp, 1_000)
    days, second = divmod(seconds, 86_400)
    fraction = f".{milliseconds:03d}".rstrip("0") if milliseconds else ""
    return f"{_day(days)}{_time(second)}{fraction}Z"
