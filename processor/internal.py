"""The records on the internal topics: passed on, matched, kept and bound. Written and read here only.

Where an input was read first travels in the first header of a record on `run-inputs`, so that a cause or a dead letter
names the record that its producer knows; the header's name says what the value is.
"""

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from processor.acceptance import Origin
from processor.record import COMMIT_INDEX, RUN_INPUTS, Headers, Output, Record
from processor.state import Match, Signal, encode

PASSED_ON: Final = "ocp.passed-on"
MATCHED: Final = "ocp.matched"
TICK: Final = "ocp.tick"
PREFIX: Final = 7  # hex digits: two shas that may be writings of one commit have these in common


class Event(Struct, frozen=True, array_like=True, tag=True):
    """A commit event, for the commit index."""

    sha: str
    file: str
    signal: Signal
    origin: Origin
    since: int | None = None  # when the index got it, or was last found to need it; in seconds since 1970


class Binding(Struct, frozen=True, array_like=True, tag=True):
    """All commits that a run's newest document names and that begin with the record's key; none: no longer."""

    run_id: str
    commits: list[str]


_origin: Final = msgspec.json.Decoder(Origin).decode
_match: Final = msgspec.json.Decoder(Match).decode
decode_entry: Final = msgspec.json.Decoder(Event | Binding).decode


def pass_on(record: Record) -> Output:
    """A record that came in on another run's partition, to where its key belongs."""
    assert record.key is not None  # noqa: S101 (a record without a key is bad and belongs everywhere)
    return Output(RUN_INPUTS, record.key, record.value, [(PASSED_ON, encode(origin_of(record))), *record.headers])


def matched(run_id: str, event: Event, match: Match) -> Output:
    """What the commit index says of an event and a run."""
    return Output(RUN_INPUTS, run_id.encode(), encode(match), [(MATCHED, encode(event.origin))])


def tick(topic: str, key: bytes, now: int) -> Output:
    """To a row of this key: every input up to `now` was read; in seconds since 1970."""
    return Output(topic, key, b"%d" % now, [(TICK, None)])


def tick_in(record: Record) -> int | None:
    """The second of the tick, if that is what the record carries."""
    return int(record.value or b"") if record.headers and record.headers[0][0] == TICK else None


def origin_of(record: Record) -> Origin:
    """Where the record was read first."""
    if record.topic == RUN_INPUTS and record.headers[0][0] != TICK:
        return origin_in(record.headers)
    return Origin(record.topic, record.partition, record.offset, record.timestamp)


def origin_in(headers: Headers) -> Origin:
    """Where the input was read first that a record on `run-inputs` with these headers is about."""
    return _origin(headers[0][1] or b"")


def received(record: Record) -> Record:
    """The record as it came in, if it was passed on."""
    if record.topic != RUN_INPUTS:
        return record
    first = origin_of(record)
    return Record(
        first.topic, first.partition, first.offset, first.timestamp, record.key, record.value, record.headers[1:]
    )


def match_in(record: Record) -> Match | None:
    """The match, if that is what the record carries."""
    if record.topic != RUN_INPUTS or record.headers[0][0] != MATCHED:
        return None
    return _match(record.value or b"")


def indexed(entry: Event | Binding, prefix: str) -> Output:
    """An entry for the commit index."""
    return Output(COMMIT_INDEX, prefix.encode(), encode(entry), ())


def entry_in(record: Record) -> Event | Binding:
    """The entry that a record of the commit index carries; an event with when it was written there."""
    entry = decode_entry(record.value or b"")
    if isinstance(entry, Binding) or record.timestamp is None:
        return entry
    return replace(entry, since=record.timestamp // 1_000)
