"""Timestamps as integers of nanoseconds since the epoch, and how an instant is shown."""

from __future__ import annotations

import re
from datetime import date

from .records import Refused

SECOND = 10**9
DAY = 86_400 * SECOND
EPOCH = date(1970, 1, 1).toordinal()

PATTERN = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)


def instant(text: str) -> int:
    """Nanoseconds since the epoch; digits past the ninth are cut; else `bad_timestamp`."""
    match = PATTERN.fullmatch(text)
    if match is None:
        raise Refused("bad_timestamp")
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    fraction = int(((match[7] or ".")[1:] + "0" * 9)[:9])
    away_hours, away_minutes = int(match[9] or 0), int(match[10] or 0)
    if hour > 23 or minute > 59 or second > 60 or away_hours > 23 or away_minutes > 59:
        raise Refused("bad_timestamp")
    try:
        days = date(year, month, day).toordinal() - EPOCH
    except ValueError:
        raise Refused("bad_timestamp") from None
    away = (away_hours * 3600 + away_minutes * 60) * (-1 if match[8] == "-" else 1)
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - away
    # `:60` only as the leap second 23:59:60 UTC, counted as the second after it
    if second == 60 and seconds % 86_400 != 0:
        raise Refused("bad_timestamp")
    return seconds * SECOND + fraction


def shown(at: int) -> str:
    """UTC with `Z` and no trailing zeros; with -23:59 or +23:59 where the UTC form would leave years 0001 to 9999."""
    shift = (23 * 60 + 59) * 60 * SECOND
    if at >= FIRST_PAST_9999:
        return civil(at - shift) + "-23:59"
    if at < FIRST_OF_0001:
        return civil(at + shift) + "+23:59"
    return civil(at) + "Z"


FIRST_OF_0001 = (1 - EPOCH) * DAY
FIRST_PAST_9999 = (date.max.toordinal() + 1 - EPOCH) * DAY


def civil(at: int) -> str:
    days, rest = divmod(at, DAY)
    seconds, fraction = divmod(rest, SECOND)
    text = (
        f"{date.fromordinal(days + EPOCH).isoformat()}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    )
    return text + (f".{fraction:09}".rstrip("0") if fraction else "")
