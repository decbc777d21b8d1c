"""`acceptance produce`: puts a file of records on the broker, as the replay reads it.

Law: records of one partition are there in the file's order; a key goes where Java's murmur2 puts it.
"""

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from processor import broker, permissions
from processor.failure import Failure
from processor.harmless import harmless
from processor.lines import BadLine, Line, decode_line, read
from processor.metadata import describe
from processor.partitioner import partition_of
from processor.record import INPUTS
from processor.settings import Settings

LARGEST_REQUEST_BYTES = 2_097_152  # what the topics take
UNACKNOWLEDGED_RECORDS = 10_000  # more than that are not held in memory
LINGER_MS = 5

Numbered = tuple[int, Line]  # the first line of a file is number 1


def lines_of(path: str) -> Iterator[Numbered]:
    """Each line that is to go to an input topic, with its number. Raises `Failure` on the first that is none."""
    try:
        for number, raw in enumerate(read(path), 1):
            if not raw.strip():
                continue
            line = decode_line(raw, number)
            if line.topic not in INPUTS:
                raise BadLine(number, f"the topic {harmless(repr(line.topic))} is none of {', '.join(INPUTS)}")
            yield number, line
    except BadLine as bad:
        raise Failure(os.EX_DATAERR, f"{harmless(path)}: {bad}. The lines before it are on the broker") from bad
    except OSError as error:
        raise Failure(os.EX_NOINPUT, f"{harmless(path)} cannot be read: {harmless(str(error))}") from error


async def send_all(producer: AIOKafkaProducer, lines: AsyncIterator[Numbered], settings: Settings) -> Counter[str]:
    """Write the records and wait until each is acknowledged. The number of records by topic."""
    waiting: dict[asyncio.Future[object], int] = {}
    sent: Counter[str] = Counter()
    counts = {topic: len(await producer.partitions_for(settings.topic(topic))) for topic in INPUTS}
    async for number, line in lines:
        try:
            future = await producer.send(
                settings.topic(line.topic),
                key=line.key,
                value=line.value,
                partition=None if line.key is None else partition_of(line.key, counts[line.topic]),
                timestamp_ms=line.timestamp,
                headers=line.headers,
            )
        except MessageSizeTooLargeError as error:
            raise Failure(os.EX_DATAERR, f"line {number}: the record is larger than a topic takes") from error
        waiting[future] = number
        sent[line.topic] += 1
        if len(waiting) >= UNACKNOWLEDGED_RECORDS:
            await _acknowledged(waiting)
    await _acknowledged(waiting)
    return sent


async def _acknowledged(waiting: dict[asyncio.Future[object], int]) -> None:
    for future, number in waiting.items():
        try:
            await future
        except MessageSizeTooLargeError as error:
            raise Failure(os.EX_DATAERR, f"line {number}: the record is larger than the broker takes") from error
        except KafkaError as error:
            raise Failure(os.EX_TEMPFAIL, f"line {number}: not written, {error!r}") from error
    waiting.clear()


async def require_inputs(settings: Settings) -> None:
    """Raises `Failure` unless the input topics exist: a broker that makes them by itself makes them with any count."""
    async with broker.admin(settings) as client:
        await permissions.require(client, settings, permissions.producing(settings))
        described = await describe(client, [settings.topic(logical) for logical in INPUTS])
    missing = [topic["topic"] for topic in described if not topic["partitions"]]
    if missing:
        raise Failure(
            os.EX_CONFIG,
            f"no topic {' and no '.join(missing)} on {settings.kafka_bootstrap_servers}. "
            "Make what is missing with `acceptance topics apply`",
        )


def opened(settings: Settings) -> AbstractAsyncContextManager[AIOKafkaProducer]:
    """A producer with room for the largest record."""
    return broker.producer(settings, linger_ms=LINGER_MS, max_request_size=LARGEST_REQUEST_BYTES)


def main(args: argparse.Namespace, settings: Settings) -> int:
    """Put `args.file` on the broker and say how much it was."""
    return broker.run(_main(args.file, settings))


async def _main(path: str, settings: Settings) -> int:
    async def lines() -> AsyncIterator[Numbered]:
        for numbered in lines_of(path):
            yield numbered

    await require_inputs(settings)
    async with opened(settings) as producer:
        sent = await send_all(producer, lines(), settings)
    print(
        f"{sent.total()} records: " + ", ".join(f"{n} on {settings.topic(topic)}" for topic, n in sorted(sent.items()))
    )
    return os.EX_OK
