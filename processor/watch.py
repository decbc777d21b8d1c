"""`acceptance watch`: prints changes, or reversals alone, as they come. It joins no group and moves no offsets."""

import argparse
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from pydantic import ValidationError

from processor import broker, display, record
from processor.settings import Settings
from processor.topic_reader import partitions
from topics.acceptance_changed import RECORD, AcceptanceChanged

POLL_MS = 500


@dataclass(frozen=True)
class Options:
    """What to print, and how."""

    reversed_only: bool
    run: str | None
    as_json: bool
    from_beginning: bool


def main(args: argparse.Namespace, settings: Settings) -> int:
    """Print until interrupted."""
    return broker.run(_main(Options(args.reversed, args.run, args.json, args.from_beginning), settings))


async def _main(options: Options, settings: Settings) -> int:
    topic = record.REVERSED if options.reversed_only else record.CHANGED
    key = None if options.run is None else options.run.encode("utf-8", "surrogateescape")
    tps = await partitions(settings, topic, key)
    console = display.console()
    async with broker.consumer(settings) as consumer:
        await assign(consumer, list(tps), options.from_beginning)
        async for change in records(consumer):
            if key is not None and change.key != key:
                continue
            decoded = decode(change)
            if decoded and options.as_json:
                print(json.dumps(json.loads(change.value)), flush=True)  # whole, and in ASCII: harmless too
            elif decoded:
                console.print(display.line(decoded))
    return os.EX_OK


async def assign(consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition], from_beginning: bool) -> None:
    """Read these partitions, from their first record or from now on."""
    consumer.assign(partitions)
    await (consumer.seek_to_beginning if from_beginning else consumer.seek_to_end)(*partitions)


async def records(consumer: AIOKafkaConsumer) -> AsyncIterator[ConsumerRecord]:
    """Records as they come, without end."""
    while True:
        for batch in (await consumer.getmany(timeout_ms=POLL_MS)).values():
            for read in batch:
                yield read


def decode(read: ConsumerRecord) -> AcceptanceChanged | None:
    """The change; None, and a word on standard error, for a record that is none."""
    try:
        return RECORD.validate_json(read.value or b"")
    except ValidationError as error:
        where = f"{read.topic}-{read.partition} at offset {read.offset}"
        print(f"acceptance: {where} is no change record ({error.error_count()} errors); left out", file=sys.stderr)
        return None
