"""The writing side: one producer for each owned partition, one transaction for each batch.

Law: outputs, changed rows and positions are all there or none is; a worker that lost its partition cannot write.
Without transactions the outputs are there before the rows and positions that account for them.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import MessageSizeTooLargeError

from processor import connection
from processor.record import Headers
from processor.settings import Settings

# What the topics that are written to are made to take (max.message.bytes), less the record batch around a record.
# The inputs take 1 MiB less, so a record that came in always fits with what is added to it.
MAX_RECORD_BYTES = 3_145_728 - 1_024
RECORD_BATCH_BYTES = 524_288  # records share a record batch up to this size
PLAIN_RECORD_BATCH_BYTES = 1_900_000  # without transactions the rows of a batch should be one record batch
REQUEST_TIMEOUT_MS = 15_000
MARKER = 1  # the offset that the end of a transaction takes in each partition it wrote to

Entry = tuple[bytes | None, bytes | None, Headers]  # key, value, headers
Entries = Mapping[TopicPartition, list[Entry]]


@dataclass(frozen=True, slots=True)
class Publisher:
    """Writes what one partition of one pipeline has to say. Made by `open_publisher`."""

    producer: AIOKafkaProducer
    changelog: TopicPartition
    group: str

    async def publish(self, outputs: Entries, rows: list[Entry], positions: Mapping[TopicPartition, int]) -> int | None:
        """One batch, in one transaction. Returns the changelog's end after it; None when the broker did not say."""
        producer = self.producer
        await producer.begin_transaction()
        sent = [send(producer, tp, entries) for tp, entries in outputs.items()]
        end, *_ = await asyncio.gather(send(producer, self.changelog, rows), *sent)
        # for tools that show the lag; the engine never reads them
        await producer.send_offsets_to_transaction(dict(positions), self.group)
        await producer.commit_transaction()
        return None if end is None else end + MARKER

    async def close(self) -> None:
        """Let go of the connections. What was not committed is never seen."""
        await self.producer.stop()


@dataclass(frozen=True, slots=True)
class PlainPublisher(Publisher):
    """For a broker without transactions: at least once."""

    async def publish(self, outputs: Entries, rows: list[Entry], positions: Mapping[TopicPartition, int]) -> int | None:
        """Outputs first; when all are acknowledged, rows and positions."""
        await asyncio.gather(*(send(self.producer, tp, entries) for tp, entries in outputs.items()))
        return await send(self.producer, self.changelog, rows)


async def open_publisher(settings: Settings, name: str, changelog: TopicPartition) -> Publisher:
    """A publisher for the partition of this name. It has fenced the one before: that one's open transaction is ended,
    its next write is refused."""
    producer = AIOKafkaProducer(
        **connection.arguments(settings),
        transactional_id=f"{settings.application_id}-{name}",
        transaction_timeout_ms=settings.transaction_timeout_seconds * 1_000,
        enable_idempotence=True,
        acks="all",
        max_batch_size=RECORD_BATCH_BYTES,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
    )
    return Publisher(await _started(producer), changelog, settings.application_id)


async def open_plain_publisher(settings: Settings, changelog: TopicPartition) -> Publisher:
    """A publisher for a broker without transactions. It fences nobody."""
    producer = AIOKafkaProducer(
        **connection.arguments(settings),
        acks="all",
        max_batch_size=PLAIN_RECORD_BATCH_BYTES,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
    )
    return PlainPublisher(await _started(producer), changelog, settings.application_id)


async def _started(producer: AIOKafkaProducer) -> AIOKafkaProducer:
    try:
        await producer.start()  # with a transactional id: InitProducerId
    except BaseException:
        await producer.stop()
        raise
    return producer


async def send(producer: AIOKafkaProducer, tp: TopicPartition, entries: Iterable[Entry]) -> int | None:
    """Write in as few record batches as fit, and wait for all. Returns the offset after the last record, None when
    nothing was written or the broker did not say where."""
    batches = []
    batch = producer.create_batch()
    for key, value, headers in entries:
        if batch.append(timestamp=None, key=key, value=value, headers=list(headers)) is None:
            batches.append(batch)
            batch = producer.create_batch()
            batch.append(timestamp=None, key=key, value=value, headers=list(headers))
        if batch.size() > MAX_RECORD_BYTES:  # create_batch takes an oversized first record without a word
            raise MessageSizeTooLargeError(f"a record of {batch.size()} bytes for {tp.topic} ({key!r:.220})")
    if batch.record_count():
        batches.append(batch)
    futures = []
    for full in batches:
        full.close()
        futures.append(await producer.send_batch(full, tp.topic, partition=tp.partition))
    metadata = await asyncio.gather(*futures)
    if not metadata or metadata[-1].offset < 0:
        return None
    return int(metadata[-1].offset) + int(batches[-1].record_count())
