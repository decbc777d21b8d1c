"""One owned partition of one pipeline: chunks in, batches out, the table changed after each commit.

Law: a chunk must start where the last one ended; a row enters the table only when its transaction is committed.
"""

import asyncio
import logging
import os
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiokafka import ConsumerRecord, TopicPartition

from processor.decode import header_bytes
from processor.engine import positions as positions_row
from processor.engine.exits import die, die_of
from processor.engine.intake import Chunk, Intake
from processor.engine.positions import Positions
from processor.engine.publish import Entry, Publisher
from processor.engine.quality import Quality
from processor.engine.routes import Routes
from processor.record import DEAD_LETTERS, Batch, Changes, Record, Table

log = logging.getLogger(__name__)

ROWS_TO_OUTPUTS = 2  # rows of a batch may have so many times the bytes that its outputs may have


@dataclass(frozen=True, slots=True)
class Limits:
    """What one transaction may hold."""

    records: int
    output_bytes: int
    stop_on_bad_input: bool


@dataclass(slots=True)
class Kept:
    """What is left of a partition after its revocation: the table as of `end` in the changelog."""

    table: Table
    positions: Positions
    end: int
    since: float  # of the monotonic clock, in seconds


@dataclass(slots=True)
class Folded:
    """The inputs of one transaction and all they lead to. The queue still holds them."""

    positions: Positions
    outputs: dict[TopicPartition, list[Entry]] = field(default_factory=dict)
    output_bytes: int = 0
    records: int = 0
    chunks: int = 0  # how many were folded to their end
    rest: int = 0  # where to go on in the chunk after those
    changes: Changes = field(default_factory=dict)
    taken: Counter[TopicPartition] = field(default_factory=Counter)  # inputs
    bad: list[tuple[TopicPartition, int]] = field(default_factory=list)  # which of them are bad


@dataclass(slots=True)
class Partition:
    """A partition number that this worker owns, in the epoch it was placed in."""

    name: str  # for people
    number: int
    epoch: int
    intake: Intake
    logical: Mapping[str, str]  # an input's name on the broker → its logical name
    table: Table
    positions: Positions
    end: int | None  # the changelog's end after our last transaction; None: not known
    publisher: Publisher
    routes: Routes
    limits: Limits
    counts: Counter[str]  # of the pipeline, for the log: records, transactions, and outputs by logical topic
    taken: Counter[TopicPartition] = field(default_factory=Counter)  # inputs, in this epoch
    qualities: defaultdict[TopicPartition, Quality] = field(default_factory=lambda: defaultdict(Quality))
    queue: deque[Chunk] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, chunk: Chunk) -> None:
        """Put a chunk at the end of the queue."""
        self.queue.append(chunk)
        self.arrived.set()

    def drop_queue(self) -> None:
        """The epoch is over: the batch in work may end, no other begins."""
        self.queue.clear()
        self.arrived.set()

    async def serve(self) -> None:
        """Work the queue off until the epoch ends. Any failure ends the process."""
        self.idle.set()
        while self.epoch == self.intake.epoch:
            await self.arrived.wait()
            self.arrived.clear()
            self.idle.clear()
            try:
                while self.queue:
                    await self.publish(self.next_batch())
            except Exception as error:  # noqa: BLE001 - an exception that leaves a task is lost
                die_of(error, self.name)
            finally:
                self.idle.set()

    def next_batch(self) -> Folded:
        """Take a batch off the queue. One whose rows turn out too large is folded again with fewer records."""
        most = self.limits.records
        while True:
            folded = self.fold(most)
            row_bytes = sum(len(row) for row in folded.changes.values() if row is not None)
            if folded.records < 2 or row_bytes <= ROWS_TO_OUTPUTS * self.limits.output_bytes:
                break
            most = folded.records // 2
        for _ in range(folded.chunks):
            self.intake.waiting[self.queue.popleft().tp] -= 1
        if folded.rest:
            chunk = self.queue[0]
            chunk.start, chunk.records = chunk.records[folded.rest].offset, chunk.records[folded.rest :]
        return folded

    def fold(self, most: int) -> Folded:
        """Fold queued chunks, of whatever inputs, until a limit is reached or the queue is at its end."""
        batch, folded = self.table.batch(), Folded(dict(self.positions))
        for chunk in self.queue:
            if folded.records >= most or folded.output_bytes >= self.limits.output_bytes:
                break
            topic = chunk.tp.topic
            if chunk.start != folded.positions[topic]:
                at = f"the state is at {folded.positions[topic]}"
                die(f"a chunk of {topic}-{chunk.tp.partition} begins at {chunk.start}, {at}", os.EX_SOFTWARE)
            done = self.fold_records(batch, chunk, folded, most - folded.records)
            folded.records += done
            if done < len(chunk.records):
                folded.rest = done
                folded.positions[topic] = chunk.records[done].offset
                break
            folded.chunks += 1
            folded.positions[topic] = chunk.end
        folded.changes = batch.changes()
        return folded

    def fold_records(self, batch: Batch, chunk: Chunk, folded: Folded, most: int) -> int:
        """Fold a chunk's records as far as the limits go; returns how many."""
        topic, number, outputs, routes = self.logical[chunk.tp.topic], self.number, folded.outputs, self.routes
        size, limit, done = folded.output_bytes, self.limits.output_bytes, 0
        for record in chunk.records:
            if done == most or size >= limit:
                break
            produced = batch.step(as_record(topic, number, record))
            if produced and produced[0].topic == DEAD_LETTERS:
                folded.bad.append((chunk.tp, folded.taken[chunk.tp] + done))
            for output in produced:
                key, value = output.key, output.value
                size += len(value or b"") + len(key or b"") + header_bytes(output.headers)
                where = routes(output.topic, key)
                if (entries := outputs.get(where)) is None:
                    outputs[where] = entries = []
                entries.append((key, value, output.headers))
            done += 1
        folded.output_bytes = size
        folded.taken[chunk.tp] += done
        return done

    def judge_inputs(self, folded: Folded) -> None:
        """Tell of an input that is nearly all bad; end before it, if that is wanted."""
        for tp, number in folded.bad:
            what = self.qualities[tp].note_bad(self.taken[tp] + number)
            if what is not None:
                sentence = f"{tp.topic}-{tp.partition}: {what}; `acceptance dead-letters list` says why"
                if self.limits.stop_on_bad_input:
                    todo = "Mend their producer, or start without STOP_ON_BAD_INPUT to set them aside"
                    die(f"{sentence}. {todo}", os.EX_DATAERR)
                log.error("%s", sentence)
        self.taken += folded.taken

    async def publish(self, folded: Folded) -> None:
        """Publish a batch; only then does the table know it."""
        self.judge_inputs(folded)
        rows: list[Entry] = [(key, value, ()) for key, value in folded.changes.items()]
        rows.append((positions_row.KEY, positions_row.encode(folded.positions), ()))
        moved = {
            TopicPartition(topic, self.number): offset
            for topic, offset in folded.positions.items()
            if offset != self.positions[topic]
        }
        self.end = await self.publisher.publish(folded.outputs, rows, moved)
        self.table.update(folded.changes)
        self.positions = folded.positions
        self.counts["transactions"] += 1
        self.counts["records"] += folded.records
        for where, entries in folded.outputs.items():
            self.counts[where.topic] += len(entries)


def as_record(topic: str, number: int, record: ConsumerRecord) -> Record:
    """What Kafka delivered, as the pipelines know it."""
    timestamp = record.timestamp
    return Record(
        topic,
        number,
        record.offset,
        None if timestamp is None or timestamp < 0 else timestamp,
        record.key,
        record.value,
        record.headers,
    )
