"""`acceptance explain` and `acceptance what-if`: questions to the state, as the changelog has it. Nothing is written.

The state is that of the workers' last commit; no worker is asked or disturbed.
"""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from pydantic import ValidationError
from rich.console import Console
from rich.progress import Progress

from processor import broker, display
from processor.answers import explanation, outcome_table
from processor.engine import positions
from processor.engine.topology import changelog
from processor.explain import explain
from processor.failure import Failure
from processor.harmless import harmless
from processor.instants import NS, instant
from processor.record import CHANGED
from processor.settings import Settings
from processor.state import open_run
from processor.topic_reader import everything, partitions
from processor.watch import decode
from processor.what_if import Choice, Outcome
from topics.runs import AcceptanceRule

MS = NS // 1_000
FOUND = 1


def main(args: argparse.Namespace, settings: Settings) -> int:
    """Runs `explain` or `what-if`. 1: the run is not known, or some runs flip."""
    if args.command == "explain":
        return broker.run(_explain(args.run, args.as_of, args.json, settings))
    choice = Choice(None if args.since is None else args.since * MS, dict(args.label or ()))
    return broker.run(_what_if(args.rule, choice, args.json, settings))


async def _explain(run_id: str, as_of: int | None, as_json: bool, settings: Settings) -> int:
    key = run_id.encode("utf-8", "surrogateescape")
    state, changed = [await partitions(settings, logical, key) for logical in (changelog("runs"), CHANGED)]
    async with broker.consumer(settings) as consumer:
        row = (await _rows(consumer, state, {key})).get(key)
        if row is None:
            shown = harmless(run_id)
            print(f"acceptance: no run {shown} in the state of {settings.application_id}. Is APPLICATION_ID right?")
            return FOUND
        changes = await _history(consumer, changed, key)
    limit = None if as_of is None else as_of * MS
    found = explain(open_run(run_id, row), limit)
    found["history"] = [change for change in changes if limit is None or _when(change) <= limit]
    found["history_is_whole"] = not changes or changes[0]["seq"] == 1
    if as_json:
        print(json.dumps(found))
    else:
        display.console().print(explanation(found))
    return os.EX_OK


async def _rows(
    consumer: AIOKafkaConsumer,
    tps: Mapping[TopicPartition, int],
    keys: set[bytes] | None = None,
    seen: Callable[[], object] = lambda: None,
) -> dict[bytes, bytes]:
    """The newest rows of these partitions; of these keys, where there are any named. `seen` is told of each record."""
    rows: dict[bytes, bytes] = {}
    async for record in everything(consumer, tps):
        seen()
        if record.key == positions.KEY or (keys is not None and record.key not in keys):
            continue
        if record.value is None:
            rows.pop(record.key, None)
        else:
            rows[record.key] = record.value
    return rows


async def _history(consumer: AIOKafkaConsumer, tps: Mapping[TopicPartition, int], key: bytes) -> list[dict[str, Any]]:
    """The run's changes, as far back as the topic keeps them."""
    return [
        json.loads(record.value)
        async for record in everything(consumer, tps)
        if record.key == key and record.value is not None and decode(record)
    ]


def _when(change: dict[str, Any]) -> int:
    """When a change's cause was observed, in nanoseconds since 1970; of a document, when it was recorded."""
    cause = change["cause"]
    text = cause["signal"]["observed_at"] if cause["signal"] else cause["recorded_at"]
    return 0 if text is None else instant(text)


def read_rule(path: Path) -> AcceptanceRule:
    """The rule in a file. Raises `Failure`."""
    try:
        return AcceptanceRule.model_validate_json(path.read_bytes())
    except OSError as error:
        raise Failure(os.EX_NOINPUT, f"{harmless(str(path))} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise Failure(
            os.EX_DATAERR,
            f"{harmless(str(path))} is no acceptance rule: {where}: {first['msg']}. See topics/runs/schema.json",
        ) from error


async def _what_if(path: Path, choice: Choice, as_json: bool, settings: Settings) -> int:
    rule, outcome = read_rule(path), Outcome()
    async with broker.consumer(settings) as consumer:
        tps = await partitions(settings, changelog("runs"))
        ends = await consumer.end_offsets(list(tps))
        with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task("reading the state", total=sum(ends.values()))
            for tp in tps:
                for key, row in (await _rows(consumer, {tp: 0}, seen=lambda: bar.advance(task))).items():
                    outcome.take(open_run(key.decode(), row), choice, rule)
    if as_json:
        print(json.dumps(dataclasses.asdict(outcome)))
    else:
        display.console().print(outcome_table(outcome))
    return FOUND if outcome.flips else os.EX_OK
