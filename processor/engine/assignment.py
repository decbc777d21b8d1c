"""The partitions that this worker owns, from one rebalance to the next.

Law: nothing of an assignment outlives its revocation but committed rows, and how far the changelog is in them.
"""

import asyncio
import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from aiokafka import TopicPartition

from processor.engine.exits import die
from processor.engine.intake import Chunk, Intake
from processor.engine.partition import Kept, Partition
from processor.engine.placing import Placing

log = logging.getLogger(__name__)

COUNTS_SECONDS = 60


@dataclass(slots=True)
class Assignment:
    """Owned partitions and their tasks."""

    intake: Intake
    placing: Placing
    revoke_seconds: float  # a transaction may take so long to end before the group goes on without us
    owned: dict[TopicPartition, Partition] = field(default_factory=dict)  # by input partition
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def place(self, assigned: Iterable[TopicPartition]) -> None:
        """Serve what was assigned."""
        partitions = await self.placing.place(assigned)
        start: dict[TopicPartition, int] = {}
        for partition in partitions:
            for topic, offset in partition.positions.items():
                tp = TopicPartition(topic, partition.number)
                self.owned[tp], start[tp] = partition, offset
            self.remember(asyncio.create_task(partition.serve(), name=partition.name))
        self.intake.begin(start)

    def remember(self, task: asyncio.Task[None]) -> None:
        """Hold a task until it is done; asyncio alone would let it be collected."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def take(self, chunk: Chunk) -> None:
        """Hand a chunk to its partition; one of an older epoch is dropped, its next owner reads it again."""
        if chunk.epoch == self.intake.epoch:
            self.owned[chunk.tp].take(chunk)

    def partitions(self) -> list[Partition]:
        """Each owned one, once."""
        return list({partition.name: partition for partition in self.owned.values()}.values())

    async def revoke(self) -> None:
        """Drop what waits, let the transactions in flight end, keep what is committed."""
        self.intake.end()
        partitions = self.partitions()
        self.owned = {}
        for partition in partitions:
            partition.drop_queue()
        try:
            async with asyncio.timeout(self.revoke_seconds):
                await asyncio.gather(*(partition.idle.wait() for partition in partitions))
        except TimeoutError:
            die(f"a transaction did not end within {self.revoke_seconds:g} s of the revocation", os.EX_TEMPFAIL)
        now = time.monotonic()
        for partition in partitions:
            if partition.end is not None:
                kept = Kept(partition.table, partition.positions, partition.end, now)
                self.placing.kept[partition.name] = kept
            self.remember(asyncio.create_task(partition.publisher.close()))
        if partitions:
            log.info("gave up %s", ", ".join(partition.name for partition in partitions))
            self.say_counts()

    def say_counts(self) -> None:
        """What was done since the last time, a line for each pipeline that did something: records in, transactions, and
        records out by topic. What went to `run-inputs` from `runs` came in on another run's partition."""
        for name, counts in self.placing.counts.items():
            if counts:
                listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
                log.info("%s: %s", name, listed)
                counts.clear()

    async def say_counts_now_and_then(self) -> None:
        """For as long as the worker runs."""
        while True:
            await asyncio.sleep(COUNTS_SECONDS)
            self.say_counts()
