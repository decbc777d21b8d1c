"""The reading is checked against cases and timelines, the comparison against the reading, the product against both."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from .compare import ADDED, differences
from .generate import records
from .reading import Expected, read
from .records import bytes_of

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
SEEDS = 300
RECORDS = 60
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="../shared (cases and timelines) is not beside the repository"
)


def cases() -> list[Any]:
    path = SHARED / "cases" / "cases.jsonl"
    given = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [pytest.param(case["records"], case["expected"], id=case["id"]) for case in given]


def statuses(expected: Expected) -> dict[str, str | None]:
    return {run_id: None if value is None else value["status"] for run_id, value in expected.final.items()}


@needs_shared
@pytest.mark.parametrize(("lines", "expected"), cases())
def test_the_reading_ends_each_case_as_expected(lines: list[Any], expected: dict[str, str]) -> None:
    """Every run of a case ends with the status the case expects."""
    assert statuses(read(lines)) == expected


@needs_shared
@pytest.mark.parametrize("name", ["cargo", "faust"])
def test_the_reading_ends_each_timeline_as_expected(name: str) -> None:
    """Every run of a real history ends with the expected status and number of late events."""
    with gzip.open(SHARED / "timelines" / f"{name}.records.jsonl.gz", "rt") as file:
        final = read([json.loads(line) for line in file]).final
    wanted = [json.loads(line) for line in (SHARED / "timelines" / f"{name}.expected.jsonl").read_text().splitlines()]
    for run in wanted:
        value = final[run["run"]]
        assert value is not None
        assert (value["status"], len(value["late_events"])) == (run["status"], run["late"]), run["run"]
    assert len(final) == len(wanted)


def test_generated_files_hold_every_code_but_run_full() -> None:
    """The generator reaches each code that a record alone can earn, in about one record of eight."""
    letters = [letter for seed in range(60) for letter in read(records(seed, RECORDS)).dead_letters]
    codes = {"too_large", "bad_key", "bad_commit", "bad_encoding", "bad_json", "too_deep", "schema"}
    codes |= {"E195", "bad_timestamp", "key_mismatch"}
    assert {letter.code for letter in letters} == codes
    assert 0.08 < len(letters) / (60 * RECORDS) < 0.2


@pytest.mark.parametrize("seed", range(20))
def test_the_answer_does_not_depend_on_the_order_of_signals_and_events(seed: int) -> None:
    """Without forgettings, moving signals and events about and repeating them leaves every last acceptance the same."""
    lines = [
        line for line in records(seed, RECORDS) if not (line["topic"] == "runs" and bytes_of(line, "value") is None)
    ]
    moved = sorted((line for line in lines if line["topic"] != "runs"), key=lambda line: repr(line)[::-1])
    documents = [line for line in lines if line["topic"] == "runs"]
    last, again = read(lines).final, read(moved[::2] + documents + moved[1::2] + moved[:5]).final
    told = ("version", "cause")
    assert {k: v and {**v, **dict.fromkeys(told)} for k, v in last.items()} == {
        k: v and {**v, **dict.fromkeys(told)} for k, v in again.items()
    }


# --- the comparison ------------------------------------------------------------------------------


def as_outputs(expected: Expected) -> list[dict[str, Any]]:
    """The reading's expectation rendered as the records a right product writes."""

    def plain(value: Any) -> Any:
        return round(float(value), 2) if isinstance(value, Fraction) else value

    def text(value: Any) -> Any:
        return json.loads(json.dumps(value, default=plain))

    outputs: list[dict[str, Any]] = []
    more = [["ce_source", "/ocp-acceptance/x"], ["content-type", "application/json"]]
    for topic, given in (("", expected.acceptance), ("-changed", expected.changed), ("-reversed", expected.alerts)):
        for output in given:
            headers = [list(pair) for pair in output.headers.items()] + copy.deepcopy(more)
            outputs.append(
                {"topic": f"acceptance{topic}", "key": output.run_id, "value": text(output.value), "headers": headers}
            )
    for letter in expected.dead_letters:
        added = dict.fromkeys(ADDED, "?") | {"ocp.errors.code": letter.code, "ocp.errors.timestamp": letter.timestamp}
        places = (letter.topic, letter.partition, letter.offset)
        added |= {
            f"__streams.errors.{k}": str(v) for k, v in zip(("topic", "partition", "offset"), places, strict=True)
        }
        added.pop("ocp.errors.path")
        record = {k: v for k, v in letter.line.items() if k != "timestamp"}
        if letter.path:
            added["ocp.errors.path"] = letter.path
            record = {k: v for k, v in record.items() if k.startswith("key")} | {"value": letter.embedded}
        headers = [*(letter.line.get("headers") or []), *(list(pair) for pair in added.items())]
        outputs.append({**record, "topic": "acceptance-dead-letters", "headers": headers})
    return outputs


@pytest.mark.parametrize("seed", [seed for seed in range(40) if seed % 50 != 7])
def test_the_reading_rendered_as_outputs_has_no_differences(seed: int) -> None:
    """Two readings of one file are the same, whatever is in it."""
    lines = records(seed, RECORDS)
    assert differences(lines, as_outputs(read(lines))) == []


def spoil_status(outputs: list[Any]) -> None:
    next(o for o in outputs if o["topic"] == "acceptance" and o["value"])["value"]["status"] = "?"


def spoil_header(outputs: list[Any]) -> None:
    next(o for o in outputs if o["topic"] == "acceptance-changed")["headers"].append(["ce_id", "another"])


def spoil_code(outputs: list[Any]) -> None:
    letter = next(o for o in outputs if o["topic"] == "acceptance-dead-letters")
    next(header for header in letter["headers"] if header[0] == "ocp.errors.code")[1] = "?"


def spoil_count(outputs: list[Any]) -> None:
    outputs.remove(next(o for o in outputs if o["topic"] == "acceptance-changed"))


@pytest.mark.parametrize("spoil", [spoil_status, spoil_header, spoil_code, spoil_count])
def test_a_wrong_output_is_told(spoil: Callable[[list[Any]], None]) -> None:
    """A wrong field, header, code or a missing record is a difference."""
    lines = records(3, RECORDS)
    outputs = as_outputs(read(lines))
    spoil(outputs)
    assert differences(lines, outputs) != []


# --- the product ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_product_says_what_the_reading_says(seed: int) -> None:
    """Replaying a generated file writes exactly the records that the naive reading expects."""
    replay = pytest.importorskip("processor.replay", reason="processor.replay is not there yet")
    lines = records(seed, RECORDS)
    outputs = [json.loads(line) for line in replay.replay(json.dumps(line).encode() for line in lines)]
    assert differences(lines, outputs) == [], f"seed {seed}"
