"""How long what time makes useless is kept. Time is that of the ticks, never a clock's.

Law: what somebody still writes about stays; what goes was left alone for as long, counted from a tick or from when it
was kept, so what a producer says of the time makes nothing go early or stay for ever.
"""

from typing import Final, NamedTuple

from processor.internal import Event
from processor.state import Row

NOW: Final = 0  # due with the next tick, whatever its time
A_DAY: Final = 86_400


class Retention(NamedTuple):
    """In seconds."""

    state: float
    commits: float

    def due(self, row: Row) -> int | None:
        """The time of the tick that this row waits for, in seconds since 1970; None when no tick changes it."""
        if not _is_over(row):
            return row.closes
        return NOW if row.since is None else int(row.since + self._time(row)) + 1

    def ends(self, row: Row, now: int) -> bool:
        """Whether the row goes with this tick: its run is over, and was left alone for long enough."""
        due = self.due(row) if _is_over(row) and row.since is not None else None
        return due is not None and due <= now

    def event_due(self, event: Event) -> int | None:
        """The time of the tick with which a commit event goes, if no run names its commit then."""
        return None if event.since is None else int(event.since + self.commits) + 1

    def is_old(self, event: Event, now: int) -> bool:
        """Whether it was kept for long enough."""
        due = self.event_due(event)
        return due is not None and due <= now

    def _time(self, row: Row) -> float:
        """Signals that wait for a document are kept as commit events are; all else as a run whose window closed."""
        return self.commits if row.unanswered == "no_run" and row.count else self.state


def _is_over(row: Row) -> bool:
    """Its window was closed by a tick, or it has no document."""
    return row.settled or row.unanswered == "no_run"
