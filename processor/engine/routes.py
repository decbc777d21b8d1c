"""Where a record goes: from a pipeline's logical topic and key to a partition on the broker.

Law: a run's outputs go to the number of the partition its state is on, so that they stay in order whoever produced its
input; what another partition has to take up goes where Java's murmur2 puts its key.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aiokafka import TopicPartition

from processor import record
from processor.partitioner import partition_of
from processor.record import Belongs
from processor.settings import Settings

OWN = (record.ACCEPTANCE, record.CHANGED, record.REVERSED)  # as many partitions as `runs`
SPREAD = (record.DEAD_LETTERS,)  # any number of partitions
KEYED = (record.RUN_INPUTS, record.COMMIT_INDEX)


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes of one partition number of a pipeline."""

    fixed: Mapping[str, TopicPartition]  # logical topic → where, whatever the key
    keyed: Mapping[str, tuple[TopicPartition, ...]]  # logical topic → its partitions in order

    def __call__(self, topic: str, key: bytes | None) -> TopicPartition:
        """Where a record of this logical topic and key goes."""
        where = self.fixed.get(topic)
        if where is not None:
            return where
        partitions = self.keyed[topic]
        return partitions[partition_of(key or b"", len(partitions))]


def routes(settings: Settings, counts: Mapping[str, int], number: int) -> Routes:
    """The routes from partition `number`; `counts` has the partition count of each logical topic."""
    fixed = {topic: TopicPartition(settings.topic(topic), number) for topic in OWN if number < counts[topic]}
    fixed |= {topic: TopicPartition(settings.topic(topic), number % counts[topic]) for topic in SPREAD}
    keyed = {topic: tuple(TopicPartition(settings.topic(topic), n) for n in range(counts[topic])) for topic in KEYED}
    return Routes(fixed, keyed)


def belonging(number: int, count: int) -> Belongs:
    """The test whether a key belongs on partition `number` of `count`."""

    def belongs(key: bytes) -> bool:
        return partition_of(key, count) == number

    return belongs
