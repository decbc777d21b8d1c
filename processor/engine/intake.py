"""What the fetching thread and the working side agree on: which assignment this is, where it began, how much waits.

Law: the chunks of a partition form a chain from its position on; what belongs to an older epoch is dropped, what breaks
the chain ends the process.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from aiokafka import ConsumerRecord, TopicPartition

# Chunks of one input partition that may wait or be in work before its fetching pauses: a full queue of the agent would
# hold up every other partition.
QUEUED_CHUNKS = 2


@dataclass(slots=True)
class Chunk:
    """All there is in [start, end) of an input partition for a reader of committed records; it may be nothing."""

    epoch: int
    tp: TopicPartition
    start: int
    end: int
    records: Sequence[ConsumerRecord]


@dataclass(slots=True)
class Intake:
    """Written by the working side only, read by the fetching thread."""

    epoch: int = 0  # goes up with each revocation
    start: dict[TopicPartition, int] = field(default_factory=dict)  # the positions this epoch began with
    waiting: Counter[TopicPartition] = field(default_factory=Counter)

    def begin(self, start: dict[TopicPartition, int]) -> None:
        """An assignment was placed: fetch from these positions."""
        self.start, self.waiting = start, Counter()

    def end(self) -> None:
        """The assignment is over: what was fetched under it counts for nothing."""
        self.epoch += 1
        self.start, self.waiting = {}, Counter()

    def has_room(self, tp: TopicPartition) -> bool:
        """Whether another chunk of this input partition may be fetched."""
        return self.waiting[tp] < QUEUED_CHUNKS
