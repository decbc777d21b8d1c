"""The engine with one guarantee taken out, to show that the verifier sees it. Beside those of `tests.e2e.breaks`."""

import itertools
import logging
import uuid
from collections.abc import Callable, Mapping

import orjson
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from processor.engine.partition import Folded, Partition
from processor.engine.publish import Entries, Entry, Publisher
from processor.record import CHANGED
from tests.e2e import breaks


def swapped_effects() -> None:
    """Rows and positions are committed first, the outputs in a transaction of their own after it."""
    whole = Publisher.publish

    async def rows_before_outputs(
        self: Publisher, outputs: Entries, rows: list[Entry], positions: Mapping[TopicPartition, int]
    ) -> int | None:
        end = await whole(self, {}, rows, positions)
        if outputs:
            await whole(self, outputs, [], positions)
        return end

    Publisher.publish = rows_before_outputs


def dropped_change() -> None:
    """One change of forty is not written, though it was counted."""
    whole, count = Publisher.publish, itertools.count(1)

    async def publish_most(
        self: Publisher, outputs: Entries, rows: list[Entry], positions: Mapping[TopicPartition, int]
    ) -> int | None:
        kept = {
            tp: [entry for entry in entries if not tp.topic.endswith(CHANGED) or next(count) % 40]
            for tp, entries in outputs.items()
        }
        return await whole(self, {tp: entries for tp, entries in kept.items() if entries}, rows, positions)

    Publisher.publish = publish_most


def random_ids() -> None:
    """A change has an id from chance instead of from its cause."""
    whole = Publisher.publish

    def renamed(entry: Entry) -> Entry:
        key, value, headers = entry
        return key, orjson.dumps(orjson.loads(value or b"") | {"id": str(uuid.uuid4())}), headers

    async def publish_renamed(
        self: Publisher, outputs: Entries, rows: list[Entry], positions: Mapping[TopicPartition, int]
    ) -> int | None:
        outputs = {
            tp: [renamed(entry) for entry in entries] if tp.topic.endswith(CHANGED) else entries
            for tp, entries in outputs.items()
        }
        return await whole(self, outputs, rows, positions)

    Publisher.publish = publish_renamed


def applied_before_acknowledged() -> None:
    """Rows and positions count as soon as a batch is sent; that it failed is only said."""

    async def publish_and_hope(self: Partition, folded: Folded) -> None:
        before = self.positions
        self.table.update(folded.changes)
        self.positions = folded.positions
        rows: list[Entry] = [(key, value, ()) for key, value in folded.changes.items()]
        rows.append((b"\xffpositions", orjson.dumps({"format": 1, "positions": folded.positions}), ()))
        moved = {
            TopicPartition(topic, self.number): offset
            for topic, offset in folded.positions.items()
            if offset != before[topic]
        }
        try:
            self.end = await self.publisher.publish(folded.outputs, rows, moved)
        except KafkaError:
            logging.exception("a batch was not acknowledged")

    Partition.publish = publish_and_hope


MUTANTS: dict[str, Callable[[], None]] = {
    "swapped-effects": swapped_effects,
    "positions-outside": breaks.split_transaction,
    "no-fencing": breaks.no_fencing,
    "uncommitted-input": breaks.read_uncommitted,
    "dropped-change": dropped_change,
    "random-ids": random_ids,
    "applied-before-acknowledged": applied_before_acknowledged,
    "no-seek": breaks.group_offsets,
}
