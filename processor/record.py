"""What goes through a pipeline: a record in, records out, rows changed. No Kafka client here.

Topics have their logical names here (`runs`, `signals`, …); only the engine and the command line know what they are
called on a broker.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

RUNS = "runs"
SIGNALS = "signals"
COMMIT_EVENTS = "commit-events"
ACCEPTANCE = "acceptance"
CHANGED = "acceptance-changed"
REVERSED = "acceptance-reversed"
DEAD_LETTERS = "acceptance-dead-letters"
RUN_INPUTS = "run-inputs"  # internal: matched commit events, ticks, and records that came in on another run's partition
COMMIT_INDEX = "commit-index"  # internal: commit events, and which run names which commit

INPUTS = (RUNS, SIGNALS, COMMIT_EVENTS)  # the public ones

Headers = Sequence[tuple[str, bytes | None]]


class Record(Struct, frozen=True, gc=False):
    """An input record. `timestamp` is in milliseconds since 1970, None when the record has none."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class Output(Struct, frozen=True, gc=False):
    """A record to be written. Which partition it goes to is the topic's affair, not the pipeline's."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers


Changes = Mapping[bytes, bytes | None]  # row key → encoded row; None: the row is gone
Belongs = Callable[[bytes], bool]  # whether records of this key belong on this partition


class Batch(Protocol):
    """The inputs of one transaction, folded. Nothing of it is in the table until `Table.update(batch.changes())`."""

    def step(self, record: Record) -> list[Output]:
        """Apply one input; what it leads to, in order. A bad record leads to its dead letter and never raises."""
        ...

    def changes(self) -> Changes:
        """The rows that the batch touched, each encoded once."""
        ...


class Table(Protocol):
    """The committed rows of one partition of a pipeline."""

    def batch(self) -> Batch: ...

    def update(self, changes: Changes) -> None:
        """Take in committed changes: after a transaction, and when the changelog is read back."""
        ...

    def ticks(self, now: int, most: int) -> list[Output]:
        """Records that time makes due, for an internal input of this pipeline: of what is due at `now` (seconds since
        1970), at most so many. Saying one again does no harm."""
        ...

    def __len__(self) -> int:
        """The number of rows."""
        ...


class Pipeline(NamedTuple):
    """A name, the topics it reads, and how to make the table of one partition."""

    name: str  # `runs` or `commits`: its changelog is `<application id>-<name>-changelog`
    inputs: tuple[str, ...]  # equal partition counts; the first one's count is the pipeline's
    table: Callable[[Belongs], Table]
