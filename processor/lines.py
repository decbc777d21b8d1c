"""Files of records: JSON Lines, `.gz` read as it is, `-` for standard input. `replay` and `produce` read them."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from processor.record import Headers


class BadLine(Exception):
    """A line that is no record."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"line {number}: {why}")
        self.number = number


class Line(NamedTuple):
    """A record that is to be put on a topic. `timestamp` in milliseconds since 1970."""

    topic: str  # logical name
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: Headers


class _Members(Struct):
    topic: str
    key: str | UnsetType | None = UNSET
    key_base64: bytes | UnsetType = UNSET
    value: Raw | UnsetType = UNSET
    value_base64: bytes | UnsetType = UNSET
    timestamp: int | None = None
    headers: list[tuple[str, str]] = []


_decode = msgspec.json.Decoder(_Members).decode


def read(path: str) -> Iterator[bytes]:
    """The lines of a file. Raises OSError where it cannot be read."""
    try:
        with _open(path) as file:
            yield from file
    except (EOFError, zlib.error) as error:
        raise OSError(f"{path} is no whole gzip file: {error}") from error


def _open(path: str) -> AbstractContextManager[BinaryIO]:
    if path == "-":
        return nullcontext(sys.stdin.buffer)
    return cast(BinaryIO, gzip.open(path)) if path.endswith(".gz") else Path(path).open("rb")


def decode_line(raw: bytes, number: int) -> Line:
    """`{"topic", "key", "value"}`, or `"value_base64"` for raw bytes; or `"key_base64"`.

    `number` is the line's, from 1. Raises BadLine. The value's bytes are taken as they stand in the line.
    """
    try:
        members = _decode(raw)
    except msgspec.DecodeError as error:
        raise BadLine(number, f"no record: {error}") from error
    if (members.key is UNSET) == (members.key_base64 is UNSET):
        raise BadLine(number, 'no record: give one of "key" and "key_base64"')
    if (members.value is UNSET) == (members.value_base64 is UNSET):
        raise BadLine(number, 'no record: give one of "value" and "value_base64"')
    return Line(
        members.topic,
        _key(members),
        _value(members),
        members.timestamp,
        [(name, text.encode()) for name, text in members.headers],
    )


def _key(members: _Members) -> bytes | None:
    if isinstance(members.key_base64, bytes):
        return members.key_base64
    return members.key.encode() if isinstance(members.key, str) else None


def _value(members: _Members) -> bytes | None:
    if isinstance(members.value_base64, bytes):
        return members.value_base64
    raw = bytes(members.value) if isinstance(members.value, Raw) else b"null"
    return None if raw == b"null" else raw
