"""Which rows a tick would change: an index beside the rows, made of them.

Law: it only says whom to look at; what a tick does is read in the row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

HOUR: Final = 3_600
AGAIN: Final = HOUR  # a tick without effect (its run was forgotten and recorded again) is said again
LOOKED_AT: Final = 5_000  # changed rows at a time: the rest waits for the next call


@dataclass(slots=True)
class Due:
    """Keys by the hour in which they are due: a place in a set for each."""

    due_of: Callable[[bytes], int | None]  # a row's key → the time of the tick that it waits for
    changed: set[bytes] = field(default_factory=set)  # since they were last looked at
    hours: dict[int, set[bytes]] = field(default_factory=dict)
    said: dict[bytes, int] = field(default_factory=dict)  # key → what it was due for, of the last hour
    said_before: dict[bytes, int] = field(default_factory=dict)  # of the hour before
    turned: int = 0

    def take(self, now: int, most: int) -> Iterator[bytes]:
        """Up to `most` keys that are due at `now`, in seconds since 1970; each once in a while."""
        self.look()
        if now - self.turned >= AGAIN:
            recent = now - self.turned < 2 * AGAIN
            self.turned, self.said, self.said_before = now, {}, self.said if recent else {}
        for hour in sorted(hour for hour in self.hours if hour * HOUR <= now):
            keys = self.hours.pop(hour)
            while keys and most:
                key = keys.pop()
                due = self.due_of(key)
                if due is None:
                    continue
                if due > now:
                    self.add(key, due)
                    continue
                self.add(key, now + AGAIN)  # should nothing come of it
                if not self.is_on_its_way(key, due):
                    self.said[key] = due
                    most -= 1
                    yield key
            if keys:
                self.hours.setdefault(hour, set()).update(keys)

    def is_on_its_way(self, key: bytes, due: int) -> bool:
        """Whether such a tick was said a short while ago."""
        return due in (self.said.get(key), self.said_before.get(key))

    def look(self) -> None:
        """Sort in the rows that changed."""
        for _ in range(min(LOOKED_AT, len(self.changed))):
            key = self.changed.pop()
            due = self.due_of(key)
            if due is not None:
                self.add(key, due)

    def add(self, key: bytes, due: int) -> None:
        """A key in its hour."""
        self.hours.setdefault(due // HOUR, set()).add(key)
