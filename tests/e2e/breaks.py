"""Deliberate breaks of the engine, each of one guarantee, to show that the checks see it."""

import asyncio
import itertools
import uuid
from collections.abc import Callable, Mapping

from aiokafka import TopicPartition

from processor.engine import fetch, placing, publish
from processor.engine.assignment import Assignment
from processor.engine.fetch import Consumer
from processor.engine.intake import Chunk
from processor.engine.partition import Folded, Partition
from processor.engine.placing import Place, Placing
from processor.engine.publish import Entries, Entry, PlainPublisher, Publisher, send
from processor.engine.restore import Reader
from processor.runs import RunsTable
from processor.settings import Settings


def slow(seconds: float) -> None:
    """No break: each batch waits before it is published, so that a fault comes in the middle more often."""
    published = Partition.publish

    async def publish_late(self: Partition, folded: Folded) -> None:
        await asyncio.sleep(seconds)
        await published(self, folded)

    Partition.publish = publish_late


def slow_seek(seconds: float) -> None:
    """No break: placed partitions wait before their positions are sought."""
    sought = Consumer.seek_to_committed

    async def seek_late(self: Consumer) -> dict[TopicPartition, int]:
        await asyncio.sleep(seconds)
        return await sought(self)

    Consumer.seek_to_committed = seek_late


def read_uncommitted() -> None:
    """Inputs of transactions that were aborted, or not yet committed, are read."""
    fetch.ISOLATION = "read_uncommitted"


def split_transaction() -> None:
    """Positions, of the state and of the group, come in a second transaction, after outputs and rows."""
    whole = Publisher.publish

    async def publish_in_two(
        self: Publisher, outputs: Entries, rows: list[Entry], positions: Mapping[TopicPartition, int]
    ) -> int | None:
        await self.producer.begin_transaction()
        for tp, entries in {**outputs, self.changelog: rows[:-1]}.items():
            await send(self.producer, tp, entries)
        await self.producer.commit_transaction()
        await asyncio.sleep(0.3)
        return await whole(self, {}, rows[-1:], positions)

    Publisher.publish = publish_in_two


def no_fencing() -> None:
    """Each process has transactional ids of its own, so that nobody is fenced by the next owner."""
    opened = publish.open_publisher

    async def open_unfenced(settings: Settings, name: str, changelog: TopicPartition) -> Publisher:
        return await opened(settings, f"{name}-{uuid.uuid4()}", changelog)

    placing.open_publisher = open_unfenced


def group_offsets() -> None:
    """Inputs are read on from the consumer group's offsets, whatever the state says."""

    async def start_at_group_offsets(self: Placing, source: Reader, places: list[Place]) -> dict[TopicPartition, int]:
        bounds = await source.bounds(tp for place in places for tp in place.inputs)
        return {tp: await source.written.committed(tp) or bounds[tp][0] for tp in bounds}

    Placing.start_positions = start_at_group_offsets


def forget_state() -> None:
    """The changelog is not read: a worker begins with empty tables at the right positions."""
    restored = Reader.restore

    async def restore_positions_only(self: Reader, tables: Mapping, start: Mapping, rows_key: bytes) -> tuple:
        ends, rows, read = await restored(self, tables, start, rows_key)
        for table in tables.values():
            if isinstance(table, RunsTable):
                table.rows.clear()
        return ends, rows, read

    Reader.restore = restore_positions_only


def lose_chunks() -> None:
    """Every fifth chunk is lost between fetching and work."""
    taken = Partition.take
    count = itertools.count(1)

    def take_most(self: Partition, chunk: Chunk) -> None:
        if next(count) % 5:
            taken(self, chunk)

    Partition.take = take_most


def failing_agent() -> None:
    """What hands chunks to their partitions raises."""

    def fail(_self: Assignment, _chunk: Chunk) -> None:
        raise RuntimeError("made by the test")

    Assignment.take = fail


def rows_first() -> None:
    """Without transactions: rows and positions are written before the outputs they account for."""

    async def publish_rows_first(
        self: PlainPublisher, outputs: Entries, rows: list[Entry], _positions: Mapping[TopicPartition, int]
    ) -> int | None:
        end = await send(self.producer, self.changelog, rows)
        await asyncio.sleep(0.5)
        for tp, entries in outputs.items():
            await send(self.producer, tp, entries)
        return end

    PlainPublisher.publish = publish_rows_first


def any_partition() -> None:
    """A record is folded wherever it came in, whatever its key."""
    placing.belonging = lambda _number, _count: lambda _key: True


def kept_rows_as_they_are() -> None:
    """A partition that comes back is served from the rows kept, without what others did to it meanwhile."""
    restored = Reader.restore

    async def restore_unless_kept(self: Reader, tables: Mapping, start: Mapping, rows_key: bytes) -> tuple:
        fresh = {tp: table for tp, table in tables.items() if not len(table)}
        ends, rows, read = await restored(self, fresh, start, rows_key) if fresh else ({}, {}, 0)
        return {**start, **ends}, rows, read

    async def never_read(_self: Reader, _tps: object) -> dict[TopicPartition, int]:
        return {}

    Reader.restore = restore_unless_kept
    Reader.group_offsets = never_read  # else the worker sees that its state is behind the group


BREAKS: dict[str, Callable[[], None]] = {
    break_.__name__.replace("_", "-"): break_
    for break_ in (
        read_uncommitted,
        split_transaction,
        no_fencing,
        group_offsets,
        forget_state,
        lose_chunks,
        failing_agent,
        rows_first,
        any_partition,
        kept_rows_as_they_are,
    )
}
