"""Dead letters as they lie in their topic: read back, told apart, and taken apart again for a redrive."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from pydantic import ValidationError

from processor.harmless import harmless
from processor.record import DEAD_LETTERS, INPUTS, SIGNALS, Headers
from processor.settings import Settings
from processor.topic_reader import everything, partitions
from topics.acceptance_dead_letters import RECORD, AddedHeaders

ADDED: Final = frozenset(field.alias for field in AddedHeaders.model_fields.values())
FIRST: Final = "__streams.errors.exception"
MOST_DIGITS: Final = 20


class Letter(NamedTuple):
    """A dead letter; `headers` are those that its record came with, `added` says why it is here."""

    partition: int
    offset: int
    timestamp: int  # when it was set aside, in milliseconds since 1970
    key: bytes | None
    value: bytes | None
    headers: Headers
    added: AddedHeaders

    @property
    def place(self) -> str:
        """Names the letter among the others."""
        return f"{self.partition}:{self.offset}"

    @property
    def home(self) -> str:
        """The topic that it goes back to: an embedded signal goes to `signals`."""
        return SIGNALS if self.added.path is not None else self.added.topic

    def line(self) -> str:
        """For a list."""
        at = datetime.fromtimestamp(self.timestamp / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        origin = f"{self.added.topic}-{self.added.partition}:{self.added.offset}"
        path = f" {harmless(self.added.path)}" if self.added.path else ""
        key = harmless(_text(self.key))
        return f"{self.place:10}  {at}  {self.added.code:13}  {origin}{path}  {key}  {harmless(self.added.message)}"

    def as_dict(self) -> dict[str, object]:
        """For programs; what is not UTF-8 is given with `\\x` escapes."""
        return {
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            "key": None if self.key is None else _text(self.key),
            "value": None if self.value is None else _text(self.value),
            "headers": [[name, None if text is None else _text(text)] for name, text in self.headers],
            **self.added.model_dump(exclude_none=True),
        }


class Choice(NamedTuple):
    """Which letters; None: whichever. Times in milliseconds since 1970, of when they were set aside."""

    codes: frozenset[str] | None = None
    topics: frozenset[str] | None = None
    since: int | None = None
    until: int | None = None

    def has(self, letter: Letter) -> bool:
        """Whether the letter is one of them."""
        return (
            (self.codes is None or letter.added.code in self.codes)
            and (self.topics is None or letter.added.topic in self.topics)
            and (self.since is None or letter.timestamp >= self.since)
            and (self.until is None or letter.timestamp < self.until)
        )


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode(errors="backslashreplace")


def opened(record: ConsumerRecord) -> Letter | None:
    """The letter in a record of the topic; None for a record that this product did not write."""
    headers = [(name, text) for name, text in record.headers]
    added: dict[str, str] = {}
    while headers and headers[-1][0] in ADDED and FIRST not in added:
        name, text = headers.pop()  # ours are the last ones, from the first of them on
        added[name] = _text(text)
    try:
        why = RECORD.validate_python(added)
    except ValidationError:
        return None
    numbers = (why.partition, why.offset, why.timestamp, why.attempt)
    if why.topic not in INPUTS or max(map(len, numbers)) > MOST_DIGITS:
        return None
    return Letter(record.partition, record.offset, record.timestamp, record.key, record.value, headers, why)


async def letters(consumer: AIOKafkaConsumer, settings: Settings) -> AsyncIterator[Letter]:
    """All letters that the topic holds now, in the order of each partition."""
    async for record in everything(consumer, await partitions(settings, DEAD_LETTERS)):
        letter = opened(record)
        if letter is not None:
            yield letter


def dump(letter: Letter) -> str:
    """All of a letter, for a person: harmless, and cut where it is long."""
    members = letter.as_dict()
    shown = [f"{name:14} {harmless(str(members[name]))}" for name in members if name not in ("value", "headers")]
    shown += [f"{'header':14} {harmless(name)}: {harmless(_text(text))}" for name, text in letter.headers]
    value = "null" if letter.value is None else "\n".join(map(harmless, _pretty(letter.value).splitlines()))
    return "\n".join([*shown, "value", value])


def _pretty(value: bytes) -> str:
    try:
        return json.dumps(json.loads(value), indent=2)
    except (ValueError, RecursionError):
        return _text(value)
