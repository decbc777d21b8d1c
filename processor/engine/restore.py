"""Reads state back: the changelog to its very end, and what the broker says about the inputs.

Law: never a part of the state. The end is the high watermark, and it is stable: no transaction is open below it.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition

from processor import connection
from processor.engine.exits import Refused
from processor.record import Table
from processor.settings import Settings

STABLE_SECONDS = 20  # to wait for a transaction to end; a fenced owner's is ended at once
STALL_SECONDS = 20  # without a record before the restore is given up
RESTORE_RECORDS = 20_000  # taken in at a time
FETCH_BYTES, PARTITION_FETCH_BYTES = 67_108_864, 8_388_608
PLAIN_QUIET_SECONDS = 0.5  # without transactions: the broker's end offset is too low, so read until nothing comes


@dataclass(slots=True)
class Reader:
    """Two consumers: one sees what is written, one sees what is committed."""

    written: AIOKafkaConsumer
    committed: AIOKafkaConsumer
    transactions: bool

    async def __aenter__(self) -> "Reader":
        await asyncio.gather(self.written.start(), self.committed.start())
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(self.written.stop(), self.committed.stop())

    async def stable_ends(self, tps: list[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of each, once no transaction is open in it."""
        limit = time.monotonic() + STABLE_SECONDS
        while True:
            written, committed = await self.written.end_offsets(tps), await self.committed.end_offsets(tps)
            if written == committed or not self.transactions:
                return dict(committed)
            if time.monotonic() > limit:
                still = [f"{tp.topic}-{tp.partition}" for tp in tps if written[tp] != committed[tp]]
                raise Refused(
                    f"{', '.join(still)}: a transaction stays open. Another program writes to this changelog: stop it. "
                    "Or a broker forgot to end it: `kafka-transactions find-hanging` shows it, abort it in each "
                    "partition that is named, and start again"
                )
            await asyncio.sleep(0.1)

    async def restore(
        self, tables: Mapping[TopicPartition, Table], start: Mapping[TopicPartition, int], rows_key: bytes
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, bytes], int]:
        """Read each changelog partition from `start` to its end into its table; the row of key `rows_key` is kept
        apart. Returns the ends, those rows, and how many records were read."""
        tps = list(tables)
        ends = await self.stable_ends(tps)
        consumer = self.committed
        consumer.assign(tps)
        for tp in tps:
            consumer.seek(tp, start[tp])
        apart: dict[TopicPartition, bytes] = {}
        read, moved = 0, time.monotonic()
        while todo := [tp for tp in tps if await consumer.position(tp) < ends[tp]] or self.not_quiet(tps, moved):
            got = await consumer.getmany(*todo, timeout_ms=200, max_records=RESTORE_RECORDS)
            for tp, records in got.items():
                changes = {record.key: record.value for record in records}
                if (row := changes.pop(rows_key, None)) is not None:
                    apart[tp] = row
                tables[tp].update(changes)
                read += len(records)
            if got:
                moved = time.monotonic()
            elif time.monotonic() - moved > STALL_SECONDS:
                raise TimeoutError(f"no record of {todo} came in {STALL_SECONDS} s, before {ends}")
        return {tp: max(ends[tp], await consumer.position(tp)) for tp in tps}, apart, read

    def not_quiet(self, tps: list[TopicPartition], moved: float) -> list[TopicPartition]:
        """Without transactions: all of them, until nothing has come for a while."""
        return tps if not self.transactions and time.monotonic() - moved < PLAIN_QUIET_SECONDS else []

    async def bounds(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """The first offset and the end of each."""
        tps = list(tps)
        first, end = await self.written.beginning_offsets(tps), await self.written.end_offsets(tps)
        return {tp: (first[tp], end[tp]) for tp in tps}

    async def group_offsets(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """What the group has committed of these; a partition of which it has nothing is not among them. After fencing
        an offset can be no newer than the state: one transaction."""
        tps = list(tps)
        offsets = await asyncio.gather(*map(self.written.committed, tps))
        return {tp: offset for tp, offset in zip(tps, offsets, strict=True) if offset is not None}


def reader(settings: Settings, transactions: bool) -> Reader:
    """A reader, to be entered. It looks up the group's offsets and does not join it."""
    arguments = connection.arguments(settings)
    return Reader(
        AIOKafkaConsumer(**arguments, group_id=settings.application_id, enable_auto_commit=False),
        AIOKafkaConsumer(
            **arguments,
            isolation_level="read_committed" if transactions else "read_uncommitted",
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_bytes=FETCH_BYTES,
            max_partition_fetch_bytes=PARTITION_FETCH_BYTES,
        ),
        transactions,
    )
