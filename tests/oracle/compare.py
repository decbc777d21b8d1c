"""What the product's output records say otherwise than the reading, as one readable sentence for each difference."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from .reading import DeadLetter, Output, read
from .records import bytes_of

JSON = Mapping[str, Any]
ADDED = (
    "__streams.errors.exception",
    "__streams.errors.message",
    "__streams.errors.topic",
    "__streams.errors.partition",
    "__streams.errors.offset",
    "ocp.errors.code",
    "ocp.errors.timestamp",
    "ocp.errors.path",
    "ocp.redrive.attempt",
)
NULL_IS_ABSENT = ("signal", "source", "score")  # objects in which a null member and none are the same
NOTHING_MORE = ("signal", "source", "labels")  # objects that are built from the known fields only
WHERE_ONCE = ("requires", "excludes_events")  # a name twice counts once, and may be shown once


def differences(lines: Sequence[JSON], outputs: Iterable[JSON]) -> list[str]:
    """Compare topic by topic, in each topic record by record; empty when the product says what the reading says."""
    expected = read(lines)
    got: dict[str, list[JSON]] = {}
    for record in outputs:
        got.setdefault(record["topic"], []).append(record)
    found: list[str] = []
    for topic, wanted in (
        ("acceptance", expected.acceptance),
        ("acceptance-changed", expected.changed),
        ("acceptance-reversed", expected.alerts),
    ):
        found += in_order(topic, wanted, got.pop(topic, []), expected_name, given_name, output_differences)
    letters = got.pop("acceptance-dead-letters", [])
    found += in_order("dead letter", expected.dead_letters, letters, letter_name, given_letter_name, letter_differences)
    return found + [f"an output on an unknown topic {topic!r}" for topic in got]


def in_order(
    what: str,
    wanted: Sequence[Any],
    got: Sequence[JSON],
    name_wanted: Callable[[Any], str],
    name_got: Callable[[JSON], str],
    compare: Callable[[Any, JSON], list[str]],
) -> list[str]:
    """Compare up to the first record that is another one than expected, and say where that is."""
    found: list[str] = []
    for place, (one, other) in enumerate(zip(wanted, got, strict=False)):
        expected_id, given_id = name_wanted(one), name_got(other)
        if expected_id != given_id:
            return [*found, f"{what} #{place}: expected {expected_id}, got {given_id} (later ones not compared)"]
        found += [f"{what} {expected_id}: {difference}" for difference in compare(one, other)]
    if len(wanted) > len(got):
        found.append(f"{what} #{len(got)}: expected {name_wanted(wanted[len(got)])} (of {len(wanted)}), got no more")
    if len(got) > len(wanted):
        found.append(f"{what} #{len(wanted)}: expected no more, got {name_got(got[len(wanted)])} (of {len(got)})")
    return found


# --- names ---------------------------------------------------------------------------------------


def expected_name(output: Output) -> str:
    return output.headers["ce_id"]


def given_name(record: JSON) -> str:
    return dict(pairs(record)).get("ce_id", "a record with no ce_id")


def letter_name(letter: DeadLetter) -> str:
    return f"{letter.topic}-{letter.partition}-{letter.offset}" + (f" {letter.path}" if letter.path else "")


def given_letter_name(record: JSON) -> str:
    headers = dict(pairs(record))
    where = [headers.get(f"__streams.errors.{part}", "?") for part in ("topic", "partition", "offset")]
    path = headers.get("ocp.errors.path")
    return "-".join(where) + (f" {path}" if path else "")


def pairs(record: JSON) -> list[tuple[str, str]]:
    headers = record.get("headers") or []
    return [(str(name), str(value)) for name, value in (headers.items() if isinstance(headers, dict) else headers)]


# --- acceptance, changed, reversed ---------------------------------------------------------------


def output_differences(wanted: Output, record: JSON) -> list[str]:
    found = []
    if bytes_of(record, "key") != wanted.run_id.encode():
        found.append(f"key: expected {wanted.run_id!r}, got {bytes_of(record, 'key')!r}")
    found += header_differences(wanted, record)
    given = json_value(record)
    if wanted.value is None or given is None:
        return found if wanted.value is given else [*found, f"value: expected {wanted.value}, got {given}"]
    return found + value_differences("", wanted.value, given)


def json_value(record: JSON) -> Any:
    if "value_base64" in record:
        return json.loads(base64.b64decode(record["value_base64"]))
    return record["value"]


def header_differences(wanted: Output, record: JSON) -> list[str]:
    given = pairs(record)
    found = []
    for name, value in wanted.headers.items():
        values = [text for header, text in given if header == name]
        if values != [value]:
            found.append(f"header {name}: expected {value!r}, got {values}")
    names = dict(given)
    found += [f"header {name}: expected none, got {names[name]!r}" for name in wanted.absent if name in names]
    if not names.get("ce_source", "").startswith("/ocp-acceptance/"):
        found.append(f"header ce_source: expected /ocp-acceptance/<application id>, got {names.get('ce_source')!r}")
    if wanted.value is not None and not names.get("content-type", "").startswith("application/json"):
        found.append(f"header content-type: expected application/json, got {names.get('content-type')!r}")
    return found


def value_differences(path: str, wanted: Any, given: Any) -> list[str]:
    """Each place at which two JSON values differ; numbers by value; a Fraction is shown with two decimals."""
    name = path.rpartition(".")[2]
    if name == "labels":
        wanted, given = wanted or {}, given or {}
    if name in WHERE_ONCE and isinstance(given, list):
        wanted, given = list(dict.fromkeys(wanted)), list(dict.fromkeys(given))
    if isinstance(wanted, Fraction):
        return (
            [] if two_decimals(wanted, given) else [f"{path}: expected {float(wanted)} to two decimals, got {given!r}"]
        )
    if isinstance(wanted, dict) and isinstance(given, dict):
        return object_differences(path, name, wanted, given)
    if name == "late_events" and isinstance(given, list):
        wanted, given = in_known_order(wanted), in_known_order(given)
    if isinstance(wanted, list) and isinstance(given, list) and len(wanted) == len(given):
        both = enumerate(zip(wanted, given, strict=True))
        return [found for place, (one, other) in both for found in value_differences(f"{path}[{place}]", one, other)]
    if isinstance(wanted, bool) != isinstance(given, bool) or wanted != given:
        return [f"{path}: expected {wanted!r}, got {given!r}"]
    return []


def two_decimals(wanted: Fraction, given: Any) -> bool:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    return round(given, 2) == given and abs(Fraction(given) - wanted) <= Fraction(5001, 1_000_000)


def object_differences(path: str, name: str, wanted: JSON, given: JSON) -> list[str]:
    found = []
    for field, value in wanted.items():
        where = f"{path}.{field}" if path else field
        other = given.get(field)
        if name == "score" and field == "scale":
            other = other or "linear"
        if field not in given and not (value is None and name in NULL_IS_ABSENT) and other is None:
            found.append(f"{where}: expected {value!r}, got no such field")
        else:
            found += value_differences(where, value, other)
    if name in NOTHING_MORE:
        found += [f"{path}.{field}: expected nothing, got {given[field]!r}" for field in given if field not in wanted]
    return found


def in_known_order(events: list[JSON]) -> list[JSON]:
    """Late events go by observed_at and id; those of one instant and one id in any order."""
    blocks: list[list[JSON]] = []
    for event in events:
        if blocks and all(blocks[-1][0][field] == event[field] for field in ("observed_at", "id")):
            blocks[-1].append(event)
        else:
            blocks.append([event])
    fields = ("name", "value", "tier", "commit", "source")
    return [event for block in blocks for event in sorted(block, key=lambda e: [repr(e.get(f)) for f in fields])]


# --- dead letters --------------------------------------------------------------------------------


def letter_differences(wanted: DeadLetter, record: JSON) -> list[str]:
    headers = dict(pairs(record))
    found = []
    for name, value in (("ocp.errors.code", wanted.code), ("ocp.errors.timestamp", wanted.timestamp)):
        if headers.get(name) != value:
            found.append(f"header {name}: expected {value!r}, got {headers.get(name)!r}")
    found += [f"header {name}: missing" for name in ADDED if name not in headers and name != "ocp.errors.path"]
    received = [(name, value) for name, value in wanted.line.get("headers") or []]
    kept = [pair for pair in pairs(record) if pair[0] not in ADDED]
    if wanted.path is None and kept != received:
        found.append(f"headers as received: expected {received}, got {kept}")
    if bytes_of(record, "key") != bytes_of(wanted.line, "key"):
        found.append(f"key as received: expected {bytes_of(wanted.line, 'key')!r}, got {bytes_of(record, 'key')!r}")
    return found + letter_value_differences(wanted, record)


def letter_value_differences(wanted: DeadLetter, record: JSON) -> list[str]:
    """Byte for byte; by meaning where the input was given as JSON; length and SHA-256 where it was too large."""
    original = bytes_of(wanted.line, "value")
    given = bytes_of(record, "value")
    if wanted.code == "too_large":
        assert original is not None
        text = (given or b"").decode()
        said = str(len(original)) in text and hashlib.sha256(original).hexdigest() in text.lower()
        return [] if said else [f"value: expected the length and SHA-256, got {text[:200]!r}"]
    if wanted.path is not None:
        return same_json(wanted.embedded, json_value(record))
    if "value_base64" not in wanted.line and original is not None:
        return same_json(wanted.line["value"], json_value(record))
    return [] if given == original else [f"value: expected the bytes {original!r:.300}, got {given!r:.300}"]


def same_json(wanted: Any, given: Any) -> list[str]:
    """Equal but for the order of members and the white space."""
    one, other = (json.dumps(value, sort_keys=True) for value in (wanted, given))
    return [] if one == other else [f"value: expected {one:.300}, got {other:.300}"]
