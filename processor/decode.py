"""Bytes → what the core folds. The one place that decides what is a bad record, and with which code.

The codes are looked for in the order of `topics.acceptance_dead_letters.Code`; the first that fits is the record's.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn

import orjson
from pydantic import TypeAdapter, ValidationError

from processor.depth import is_deeper, levels
from processor.instants import instant
from processor.record import Headers
from processor.state import TIERS, Signal
from topics import commit_events, runs, signals
from topics.runs import RunDocument
from topics.signals import LateEvent, Score, Verdict

MAX_DEPTH: Final = 64
MAX_KEY: Final = 200  # code points
MAX_BAD_SIGNALS: Final = 1_000  # in one document; one with more is set aside whole, not in as many pieces
MAX_TEXT: Final = 500  # code points of a signal's value
INT64: Final = -(2**63)
UINT64: Final = 2**64
SHA: Final = re.compile(r"[0-9a-f]{7,64}")
# the validators themselves: TypeAdapter's own method costs as much as a third of the check
_signal: Final = signals.RECORD.validator.validate_python
_commit_event: Final = commit_events.RECORD.validator.validate_python
_document: Final = runs.RECORD.validator.validate_python
A_TIMESTAMP: Final = "2000-01-01T00:00:00Z"
TIER_RANK: Final = {tier: rank for rank, tier in enumerate(TIERS)}


class BadRecord(Exception):
    """A record that cannot be applied: their fault, not ours. `code` is its dead letter's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


Filed = tuple[str, Signal]  # the file it belongs in: `<kind>:<name>`


class BadSignal(NamedTuple):
    """A signal inside a good document that cannot be read."""

    path: str
    value: bytes
    reason: BadRecord


class Document(NamedTuple):
    """A document, the instant its run ended, and what its signals came to."""

    fields: RunDocument
    ended: int | None
    commits: list[str]
    signals: list[Filed]
    bad: list[BadSignal]


def check_size(value: bytes | None, headers: Headers, most: int) -> None:
    """No value over MAX_RECORD_BYTES is read, and no record whose headers are."""
    if value is not None and len(value) > most:
        raise BadRecord("too_large", f"the value has {len(value)} bytes; at most {most} are read (MAX_RECORD_BYTES)")
    if headers and header_bytes(headers) > most:
        raise BadRecord("too_large", f"the headers have over {most} bytes (MAX_RECORD_BYTES)")


def header_bytes(headers: Headers) -> int:
    """What the names and values of headers come to."""
    return sum(len(name) + len(text or b"") for name, text in headers)


def decode_key(key: bytes | None) -> str:
    """Keys are UTF-8, 1 to 200 code points."""
    if not key:
        raise BadRecord("bad_key", "the record has no key; use the run id (on commit-events: the commit's sha)")
    try:
        text = key.decode()
    except UnicodeDecodeError as error:
        raise BadRecord("bad_key", f"the key is not UTF-8: {error}") from error
    if len(text) > MAX_KEY:
        raise BadRecord("bad_key", f"the key has {len(text)} code points; at most {MAX_KEY} are allowed")
    return text


def sha(text: str) -> str | None:
    """The commit that a text names: "stripped of spaces, 7–64 hex digits in any case"; None when it names none."""
    found = text.strip().lower()
    return found if SHA.fullmatch(found) and found.strip("0") else None


def decode_sha(key: bytes | None) -> str:
    """The key of a commit event."""
    text = decode_key(key)
    found = sha(text)
    if found is None:
        raise BadRecord("bad_commit", f"the key is no commit sha (7 to 64 hex digits, not all zero): {text[:80]!r}")
    return found


def decode_json(value: bytes | None) -> Any:  # the codec's inside: checked by a model before it leaves
    """RFC 8259; numbers are integers of up to 64 bits or finite doubles; at most 64 levels."""
    if value is None:
        raise BadRecord("bad_json", "the record has no value; a signal is needed")
    brackets = value.count(b"[") + value.count(b"{")
    try:
        found = orjson.loads(value)
        deep = brackets > MAX_DEPTH and is_deeper(found, value, brackets, MAX_DEPTH)
    except orjson.JSONDecodeError as error:
        deep = brackets > MAX_DEPTH and (levels(value) or 0) > MAX_DEPTH
        try:
            value.decode()
        except UnicodeDecodeError as bad:
            raise BadRecord("bad_encoding", f"the value is not UTF-8: {bad}") from error
        if not deep:
            raise BadRecord("bad_json", f"the value is not JSON: {error}") from error
    if deep:
        raise BadRecord("too_deep", f"over {MAX_DEPTH} levels of arrays and objects")
    return found


def decode_signal(value: object) -> Filed:
    """A signal as it comes on `signals`."""
    try:
        return _filed(_signal(value))
    except ValidationError as error:
        _refuse(signals.RECORD, value, error)


def decode_commit_event(value: object) -> Filed:
    """A signal as it comes on `commit-events`: "one OCP signal of kind `event`"."""
    try:
        return _filed(_commit_event(value))
    except ValidationError as error:
        _refuse(commit_events.RECORD, value, error)


def _filed(fields: Verdict | Score | LateEvent) -> Filed:
    source = fields.source
    return (
        f"{fields.kind}:{fields.name}",
        Signal(
            _instant(fields.observed_at, "observed_at"),
            fields.id,
            _exact(fields.value) if isinstance(fields, Score) else fields.value,
            TIER_RANK[fields.tier],
            fields.at_attempt,
            None if source is None else source.kind,
            None if source is None else source.ref,
            fields.unit,
            fields.better,
            None if fields.target is None else _exact(fields.target),
            fields.scale,
        ),
    )


def _exact(number: float | None) -> int | float | None:
    """Numbers are compared by value, so 1.0 is 1."""
    if isinstance(number, float) and number.is_integer() and INT64 <= number < UINT64:
        return int(number)
    return number


def _instant(text: str, where: str) -> int:
    try:
        return instant(text)
    except ValueError as error:
        raise BadRecord("bad_timestamp", f"{where}: no such day or time: {text[:60]} ({error})") from error


def decode_document(value: object, run_id: str) -> Document:
    """A document as it comes on `runs`. A bad signal inside it is set apart and does not spoil it."""
    try:
        fields: RunDocument = _document(value)
    except ValidationError as error:
        _refuse(runs.RECORD, value, error)
    ended = None if fields.run.ended_at is None else _instant(fields.run.ended_at, "run.ended_at")
    if fields.run.id != run_id:
        raise BadRecord("key_mismatch", f"the key is {run_id!r}, run.id is {fields.run.id!r}; they must be equal")
    good: list[Filed] = []
    bad: list[BadSignal] = []
    for index, item in enumerate(fields.run.signals or ()):
        try:
            good.append(decode_signal(item))
        except BadRecord as reason:
            if len(bad) == MAX_BAD_SIGNALS:
                message = f"run.signals: more than {MAX_BAD_SIGNALS:,} are bad; the first one: {bad[0].reason}"
                raise BadRecord("schema", message) from reason
            bad.append(BadSignal(f"run.signals[{index}]", orjson.dumps(item), reason))
    return Document(fields, ended, commits_of(fields), good, bad)


def commits_of(document: RunDocument) -> list[str]:
    """The commits a run is bound to: "the artifact's `path` or `id`" of its `commit` and `merge` artifacts, sorted."""
    named = [
        sha(text)
        for artifact in document.artifacts or ()
        if artifact.kind.value in ("commit", "merge")
        for text in (artifact.path, artifact.id)
    ]
    return sorted({found for found in named if found is not None})


def _refuse(adapter: TypeAdapter[Any], value: object, error: ValidationError) -> NoReturn:
    """Raises the first of the model's findings, in the order of the codes."""
    found = _worst(value, error)
    if found.code == "bad_timestamp" and isinstance(value, Mapping):  # it may hide a fraction outside [0, 1]
        try:
            adapter.validate_python(_with_good_timestamp(adapter, value))
        except ValidationError as hidden:
            found = _worst(value, hidden)
    raise found from error


def _with_good_timestamp(adapter: TypeAdapter[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    if adapter is runs.RECORD:
        return {**value, "run": {**value["run"], "ended_at": A_TIMESTAMP}}
    return {**value, "observed_at": A_TIMESTAMP}  # whatever it is called, another member is no document's `run`


def _worst(value: object, error: ValidationError) -> BadRecord:
    found: dict[str, str] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        place = [str(part) for part in item["loc"]]
        if place[:1] in (["verdict"], ["score"], ["event"]):  # the union's branch is no part of the place
            del place[0]
        code = "schema"
        if item["type"] == "string_pattern_mismatch":
            code = "bad_timestamp"
        elif item["type"] == "E195" or (place[:1] == ["value"] and _is_signal_value(value)):
            code = "E195"
        found.setdefault(code, f"{'.'.join(place) or 'the value'}: {item['msg']}")
    code = next(code for code in ("schema", "E195", "bad_timestamp") if code in found)
    return BadRecord(code, found[code])


def _is_signal_value(signal: object) -> bool:
    """Whether the schema takes the value, for one kind or another; then it is E195 that it breaks."""
    if not isinstance(signal, Mapping) or "value" not in signal:
        return False
    value = signal["value"]
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
