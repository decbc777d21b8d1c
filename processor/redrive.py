"""`acceptance dead-letters`: what was set aside and why, and putting it back in.

Law: a redrive never puts an old document over a newer one; of a record that is good by now a second redrive changes
nothing. Without `--execute` nothing is written.
"""

import argparse
import asyncio
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import Final

from aiokafka import AIOKafkaProducer

from processor import broker, produce
from processor.dead_letter_box import Choice, Letter, dump, letters
from processor.dead_letters import REDRIVE_ATTEMPT
from processor.failure import Failure
from processor.partitioner import partition_of
from processor.record import RUNS
from processor.settings import Settings
from processor.topic_reader import everything, partitions

MAX_ATTEMPTS: Final = 3
FOUND: Final = 1


def main(args: argparse.Namespace, settings: Settings) -> int:
    """Runs `list`, `show` or `redrive`. 1: letters were listed, or some could not be redriven."""
    if args.action == "show":
        return broker.run(_show(args.place, args.json, settings))
    choice = Choice(
        frozenset(args.code) if args.code else None,
        frozenset(args.topic) if args.topic else None,
        args.since,
        args.until,
    )
    if args.action == "list":
        return broker.run(_list(choice, args.json, settings))
    return broker.run(_redrive(choice, args.execute, args.rate, settings))


async def _chosen(choice: Choice, settings: Settings) -> list[Letter]:
    async with broker.consumer(settings) as consumer:
        return [letter async for letter in letters(consumer, settings) if choice.has(letter)]


async def _list(choice: Choice, as_json: bool, settings: Settings) -> int:
    found = await _chosen(choice, settings)
    for letter in found:
        print(json.dumps(letter.as_dict()) if as_json else letter.line())
    if not as_json:
        counts = Counter(letter.added.code for letter in found)
        listed = ", ".join(f"{count} {code}" for code, count in sorted(counts.items()))
        print(f"{len(found)} dead letters{': ' if listed else ''}{listed}")
    return FOUND if found else os.EX_OK


async def _show(place: str, as_json: bool, settings: Settings) -> int:
    found = [letter for letter in await _chosen(Choice(), settings) if letter.place == place]
    if not found:
        raise Failure(os.EX_DATAERR, f"no dead letter at {place!r}; `acceptance dead-letters list` has the places")
    print(json.dumps(found[0].as_dict()) if as_json else dump(found[0]))
    return os.EX_OK


async def _redrive(choice: Choice, execute: bool, rate: float, settings: Settings) -> int:
    found = await _chosen(choice, settings)
    newer = await _newer_documents(found, settings)
    await produce.require_inputs(settings)
    sent = refused = 0
    async with produce.opened(settings) as producer:
        for letter in found:
            why = _refusal(letter, newer)
            if why is None and execute:
                await _send(producer, letter, settings)
                await asyncio.sleep(1 / rate)
            sent += why is None
            refused += why is not None
            word = "redriven" if execute else "would go"
            print(f"{letter.line()}\n{'':10}  " + (f"{word} to {letter.home}" if why is None else f"left: {why}"))
    print(f"{sent} {'redriven' if execute else 'would be redriven'}, {refused} left")
    if sent and not execute:
        print("Nothing was written. Do it with --execute")
    return FOUND if refused else os.EX_OK


def _refusal(letter: Letter, newer: frozenset[str]) -> str | None:
    """Why the letter stays where it is; None when it may go back."""
    if letter.added.code == "too_large":
        return "only its length and SHA-256 are kept; its producer has to send it again, smaller"
    if int(letter.added.attempt) >= MAX_ATTEMPTS:
        return f"it was redriven {letter.added.attempt} times and came back each time; mend it at its producer"
    if letter.place in newer:
        return "a newer document of this run is on the topic; it holds"
    return None


async def _newer_documents(found: Sequence[Letter], settings: Settings) -> frozenset[str]:
    """Places of letters whose run has a document that was written later, wherever a producer's partitioner put it."""
    documents = [letter for letter in found if letter.home == RUNS]
    tps = await partitions(settings, RUNS)
    if not documents:
        return frozenset()
    keys = {letter.key for letter in documents}
    last: dict[bytes | None, tuple[int, int, int]] = {}  # key → timestamp, partition, offset of its last document
    async with broker.consumer(settings) as consumer:
        async for record in everything(consumer, tps):
            if record.key in keys:
                at = (record.timestamp, record.partition, record.offset)
                last[record.key] = max(last.get(record.key, at), at)
    return frozenset(letter.place for letter in documents if _is_newer(last.get(letter.key), letter))


def _is_newer(last: tuple[int, int, int] | None, letter: Letter) -> bool:
    if last is None:
        return False
    timestamp, partition, offset = last
    if partition == int(letter.added.partition):
        return offset > int(letter.added.offset)
    return timestamp >= int(letter.added.timestamp)


async def _send(producer: AIOKafkaProducer, letter: Letter, settings: Settings) -> None:
    home = settings.topic(letter.home)
    headers = [*letter.headers, (REDRIVE_ATTEMPT, str(int(letter.added.attempt) + 1).encode())]
    count = len(await producer.partitions_for(home))
    partition = None if letter.key is None else partition_of(letter.key, count)
    await producer.send_and_wait(home, letter.value, letter.key, partition, headers=headers)
