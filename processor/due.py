"""Which runs' windows have closed and are not settled: an index beside the rows, made of them.

Law: it only says whom to look at; what is due is read in the row.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from processor.state import decode_row

HOUR: Final = 3_600
AGAIN: Final = HOUR  # a tick without effect (its run was forgotten and recorded again) is said again
LOOKED_AT: Final = 5_000  # changed rows at a time: the rest waits for the next call


@dataclass(slots=True)
class Due:
    """Keys by the hour in which their windows close: a place in a set for each run that is not settled."""

    changed: set[bytes] = field(default_factory=set)  # since they were last looked at
    hours: dict[int, set[bytes]] = field(default_factory=dict)
    sent: dict[bytes, tuple[int, int]] = field(default_factory=dict)  # key → what was said last, and when

    def take(self, rows: Mapping[bytes, bytes], before: int, most: int) -> Iterator[tuple[bytes, int]]:
        """Up to `most` keys whose windows closed by `before`, and when; each once in a while. Seconds since 1970."""
        self.look(rows)
        for hour in sorted(hour for hour in self.hours if hour * HOUR <= before):
            keys = self.hours.pop(hour)
            while keys and most:
                key = keys.pop()
                closes = _open_window(rows.get(key))
                if closes is None:
                    self.sent.pop(key, None)
                    continue
                self.add(key, closes)  # until its row is settled
                if closes <= before and not self.is_on_its_way(key, closes, before):
                    self.sent[key] = closes, before
                    most -= 1
                    yield key, closes
            if keys:
                self.hours.setdefault(hour, set()).update(keys)

    def is_on_its_way(self, key: bytes, closes: int, before: int) -> bool:
        """Whether such a tick was said a short while ago."""
        told, when = self.sent.get(key, (None, 0))
        return told == closes and before - when < AGAIN

    def look(self, rows: Mapping[bytes, bytes]) -> None:
        """Sort in the rows that changed."""
        for _ in range(min(LOOKED_AT, len(self.changed))):
            key = self.changed.pop()
            closes = _open_window(rows.get(key))
            if closes is not None:
                self.add(key, closes)

    def add(self, key: bytes, closes: int) -> None:
        """A key in its hour."""
        self.hours.setdefault(closes // HOUR, set()).add(key)


def _open_window(stored: bytes | None) -> int | None:
    """When the run's window closes, if there is one and it is not settled."""
    if stored is None:
        return None
    row = decode_row(stored)
    return None if row.settled else row.closes
