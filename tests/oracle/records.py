"""From a replay record's bytes to its key and its JSON, or the code it is refused with (contract 7)."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

MAX_RECORD_BYTES = 1 << 20
MAX_LEVELS = 64


class Refused(Exception):
    """A record that goes to the dead letters; `code` is one of the contract's."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


# --- bytes ---------------------------------------------------------------------------------------


def bytes_of(line: Mapping[str, Any], field: str) -> bytes | None:
    """A key or value as bytes: `<field>_base64` raw, a key as UTF-8, a value as compact JSON, null as null."""
    if f"{field}_base64" in line:
        return base64.b64decode(line[f"{field}_base64"])
    given = line.get(field)
    if given is None:
        return None
    if field == "key":
        return str(given).encode()
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()


def key_of(topic: str, raw: bytes | None) -> str:
    """`bad_key` (empty, null, not UTF-8, over 200), then `bad_commit`; a commit key is stripped and lower-cased."""
    if raw is None:
        raise Refused("bad_key")
    try:
        key = raw.decode()
    except UnicodeDecodeError:
        raise Refused("bad_key") from None
    if not 1 <= len(key) <= 200:
        raise Refused("bad_key")
    if topic != "commit-events":
        return key
    sha = sha_of(key)
    if sha is None:
        raise Refused("bad_commit")
    return sha


def sha_of(text: str) -> str | None:
    """Stripped of spaces, it is 7-64 hex digits in any case, and not all zeros; else it names no commit."""
    sha = text.strip()
    if not re.fullmatch("[0-9a-fA-F]{7,64}", sha) or not sha.strip("0"):
        return None
    return sha.lower()


# --- JSON ----------------------------------------------------------------------------------------


def json_of(raw: bytes) -> Any:
    """`bad_encoding`, then `bad_json`, then `too_deep`."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Refused("bad_encoding") from None
    try:
        value = loads(text)
    except ValueError:
        raise Refused("bad_json") from None
    if opening_past(text, MAX_LEVELS) is not None:
        raise Refused("too_deep")  # over 64 levels of arrays and objects, the outermost is 1
    return value


def loads(text: str) -> Any:
    """RFC 8259, and: no NaN, no lone surrogate, no number a double cannot hold; of duplicate names the last wins."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        value = json.loads(
            text,
            object_pairs_hook=members,
            parse_int=integer,
            parse_float=double,
            parse_constant=no_constant,
        )
        check_text(value)
        return value
    finally:
        sys.setrecursionlimit(limit)


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, value in pairs:
        check_text(name)
        check_text(value)
    return dict(pairs)


def check_text(value: Any) -> None:
    """Strings and lists of them; objects were checked when they were read."""
    if isinstance(value, str):
        value.encode()  # UnicodeEncodeError is a ValueError: a lone surrogate
    elif isinstance(value, list):
        for item in value:
            check_text(item)


def integer(literal: str) -> int | float:
    """-2^63..2^64-1 exact; larger integer literals are doubles."""
    if len(literal) <= 25 and -(2**63) <= int(literal) < 2**64:
        return int(literal)
    return double(literal)


def double(literal: str) -> float:
    value = float(literal)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number no double can hold")
    return value


def no_constant(word: str) -> Any:
    raise ValueError(word)


def opening_past(text: str, levels: int) -> int | None:
    """Where the text opens one level too many, if it does."""
    depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.DOTALL):
        if token[0] in "[{":
            depth += 1
            if depth > levels:
                return token.start()
        elif token[0] in "]}":
            depth -= 1
    return None
