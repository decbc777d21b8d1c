"""`replay`: the same pipelines with no broker. One partition; offsets count up from 0 for each topic."""

import base64
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import orjson

from processor import internal
from processor.harmless import harmless
from processor.lines import BadLine, decode_line, read
from processor.pipelines import pipelines
from processor.record import (
    COMMIT_EVENTS,
    COMMIT_INDEX,
    DEAD_LETTERS,
    INPUTS,
    RUN_INPUTS,
    RUNS,
    Headers,
    Output,
    Record,
)
from processor.settings import Settings

INTERNAL = (RUN_INPUTS, COMMIT_INDEX)


class Replay:
    """Both pipelines on one partition. Each record's outputs are complete before the next is taken."""

    def __init__(self, settings: Settings) -> None:
        self.tables = {
            topic: table
            for pipeline in pipelines(settings)
            for table in [pipeline.table(lambda _: True)]
            for topic in pipeline.inputs
        }
        self._offsets: Counter[str] = Counter()

    def put(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int | None = None,
        headers: Headers = (),
    ) -> Iterator[Output]:
        """What a record on an input topic leads to, in order. "A commit event is matched before the next"."""
        yield from self._follow(self._step(Output(topic, key, value, headers), timestamp), timestamp, topic == RUNS)

    def settle(self, now: int) -> Iterator[Output]:
        """What comes of time: the windows that closed by `now` (seconds since 1970) have closed."""
        for topic in (RUNS, COMMIT_EVENTS):
            for tick in sorted(self.tables[topic].ticks(now, sys.maxsize), key=lambda tick: tick.key or b""):
                yield from self._follow(self._step(tick))

    def _follow(
        self, outputs: Sequence[Output], timestamp: int | None = None, in_offset_order: bool = False
    ) -> Iterator[Output]:
        """These, and what those of them lead to that are for the index or for runs."""
        yield from (output for output in outputs if output.topic not in INTERNAL)
        entries = [output for output in outputs if output.topic == COMMIT_INDEX]
        matches = [output for output in outputs if output.topic == RUN_INPUTS]
        matches += [match for entry in entries for match in self._step(entry, timestamp)]
        if in_offset_order:  # of a document in several groups: "each kept event […] in offset order"
            matches.sort(key=lambda match: (internal.origin_in(match.headers).offset, match.key))
        for match in matches:
            yield from self._step(match)

    def _step(self, given: Output, timestamp: int | None = None) -> list[Output]:
        offset = self._offsets[given.topic]
        self._offsets[given.topic] += 1
        table = self.tables[given.topic]
        batch = table.batch()
        outputs = batch.step(Record(given.topic, 0, offset, timestamp, given.key, given.value, given.headers))
        table.update(batch.changes())
        return outputs


def replay(lines: Iterable[bytes], settings: Settings | None = None, now: int | None = None) -> Iterator[bytes]:
    """The output records that these lines (see `processor.lines`) lead to, as lines of the same kind; after them, what
    comes of its being `now` (seconds since 1970): windows that closed SETTLE_GRACE_SECONDS ago are settled.

    Raises BadLine at a line that is no record, or is for a topic that is no input.
    """
    settings = settings or Settings()
    pipeline = Replay(settings)
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        line = decode_line(raw, number)
        if line.topic not in INPUTS:
            raise BadLine(number, f"unknown topic {harmless(repr(line.topic))}; the inputs are {', '.join(INPUTS)}")
        for output in pipeline.put(line.topic, line.key, line.value, line.timestamp, line.headers):
            yield as_line(output)
    if now is not None:
        yield from map(as_line, pipeline.settle(now - settings.settle_grace_seconds))


def as_line(output: Output) -> bytes:
    """A record as a line of a file. What was dead-lettered is given byte for byte."""
    line: dict[str, object] = {"topic": output.topic}
    try:
        line["key"] = None if output.key is None else output.key.decode()
    except UnicodeDecodeError:
        line["key_base64"] = base64.b64encode(output.key or b"").decode()
    if output.value is None:
        line["value"] = None
    elif output.topic == DEAD_LETTERS:
        line["value_base64"] = base64.b64encode(output.value).decode()
    else:
        line["value"] = orjson.Fragment(output.value)
    line["headers"] = [[name, None if text is None else text.decode(errors="replace")] for name, text in output.headers]
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _printable(line: bytes) -> bytes:
    """The same JSON with nothing in it that a terminal obeys."""
    text = line[:-1].decode()
    if text.isprintable():
        return line
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text).encode() + b"\n"


def main(path: str, output: str | None, now: int | None, settings: Settings) -> int:
    """Replays a file onto another or onto standard output; returns the exit code."""
    try:
        with nullcontext(sys.stdout.buffer) if output in (None, "-") else Path(output).open("wb") as sink:
            sink.writelines(map(_printable, replay(read(path), settings, now)))
    except BadLine as error:
        print(f"acceptance replay: {harmless(path)}: {error}", file=sys.stderr)
        return os.EX_DATAERR
    except BrokenPipeError:
        raise  # of the output, and no matter
    except OSError as error:
        print(f"acceptance replay: {harmless(str(error))}", file=sys.stderr)
        return os.EX_NOINPUT
    return os.EX_OK
