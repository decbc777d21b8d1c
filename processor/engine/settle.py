"""Time enters as records: ticks, for what time changes, once every input of then was read.

Law: a tick of a time is written only when all input that was there at that time and its grace later has been worked
off, by whichever worker; so it can be said twice, by two owners or after a restart, and is never too early.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from aiokafka import AIOKafkaProducer, TopicPartition

from processor import connection, record
from processor.engine.assignment import Assignment
from processor.engine.exits import die_of
from processor.engine.publish import REQUEST_TIMEOUT_MS, send
from processor.engine.restore import Reader, reader
from processor.record import Output
from processor.settings import Settings

LOOK_SECONDS, WAIT_SECONDS = 1.0, 0.5
PACE = 1_000  # ticks of a partition at a time: however many are due, live input comes in between
OUTSIDE = record.INPUTS
INSIDE = (record.COMMIT_INDEX,)  # and then `run-inputs`, in which the tick itself comes after what matters to it


@dataclass(slots=True)
class Settler:
    """Looks for what is due on the partitions that this worker owns."""

    settings: Settings
    counts: Mapping[str, int]  # logical topic → partition count
    assignment: Assignment

    async def run(self) -> NoReturn:
        """For as long as the worker runs. Any failure ends the process."""
        try:
            arguments = connection.arguments(self.settings)
            ticker = AIOKafkaProducer(**arguments, acks="all", request_timeout_ms=REQUEST_TIMEOUT_MS)
            async with ticker as producer, reader(self.settings, transactions=True) as source:
                while True:
                    await asyncio.sleep(LOOK_SECONDS)
                    due = self.due(int(time.time()) - self.settings.settle_grace_seconds)
                    if due:
                        for topics in (OUTSIDE, INSIDE):
                            await self.worked_off(source, topics)
                        for tp, ticks in due.items():
                            await send(producer, tp, [(tick.key, tick.value, tick.headers) for tick in ticks])
        except Exception as error:  # noqa: BLE001 - a task that ends would end settling without a word
            die_of(error, "settling")

    def due(self, now: int) -> dict[TopicPartition, list[Output]]:
        """The ticks that are due, by where they go: an internal input of the partition whose table wants them."""
        found = [(partition.number, partition.table.ticks(now, PACE)) for partition in self.assignment.partitions()]
        return {TopicPartition(self.settings.topic(ticks[0].topic), number): ticks for number, ticks in found if ticks}

    async def worked_off(self, source: Reader, topics: tuple[str, ...]) -> None:
        """Wait until the group has committed all that these topics hold now, open transactions too."""
        tps = [TopicPartition(self.settings.topic(name), n) for name in topics for n in range(self.counts[name])]
        todo = {tp: end for tp, (first, end) in (await source.bounds(tps)).items() if end > first}
        while todo:
            read = await source.group_offsets(todo)
            todo = {tp: end for tp, end in todo.items() if read.get(tp, 0) < end}
            if todo:
                await asyncio.sleep(WAIT_SECONDS)
