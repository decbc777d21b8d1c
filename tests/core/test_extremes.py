"""Records at the edge of what is legal: none of them may stop a worker or raise a false alert."""

import json
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from processor.record import DEAD_LETTERS, Output
from processor.replay import Replay
from processor.settings import Settings

RULE = {"name": "n", "definition": "d", "requires": ["tests"]}
PASS = {"id": "s", "kind": "verdict", "name": "tests", "value": "pass", "tier": "verified"}
PASS |= {"observed_at": "2026-03-01T12:00:00Z", "at_attempt": "x"}
REVERT = {"id": "e", "kind": "event", "name": "revert", "value": "v", "tier": "verified"}
REVERT |= {"observed_at": "2026-03-02T12:00:00Z"}


def document(rule: dict[str, Any] = RULE, shas: Sequence[str] = (), run: str = "r", **more: Any) -> dict[str, Any]:
    """A run that ended on 1 March."""
    artifacts = [{"id": "c", "path": sha, "kind": {"value": "commit"}} for sha in shas]
    fields = {"id": run, "ended_at": "2026-03-01T12:00:01Z", "acceptance_rule": rule}
    return {"ocp": "0.3", "run": fields, "artifacts": artifacts, **more}


def put(pipeline: Replay, topic: str, key: str, value: Any, headers: Any = ()) -> list[Output]:
    """What a record leads to."""
    raw = value if isinstance(value, bytes) else orjson.dumps(value)
    return list(pipeline.put(topic, key.encode(), raw, None, headers))


def last(outputs: list[Output], topic: str = "acceptance") -> Any:
    """The newest value on a topic."""
    return orjson.loads([output.value or b"" for output in outputs if output.topic == topic][-1])


@pytest.mark.parametrize("number", [1e19, 1e20, 1e300])
def test_whole_numbers_past_64_bits_are_doubles(number: float) -> None:
    """A window or an attempt's number that no integer of 64 bits can hold is read, kept and shown."""
    pipeline = Replay(Settings())
    rule = {**RULE, "window_days": number}
    attempts = [{"id": "x", "node": "n", "n": number}]
    assert last(put(pipeline, "runs", "r", document(rule, attempts=attempts)))["rule"]["window_days"] == number
    accepted = last(put(pipeline, "signals", "r", PASS))
    assert accepted["accepted_at_attempt"] == {"id": "x", "number": number}
    assert accepted["window_closes_at"] is None


def test_a_document_of_small_names_is_measured_by_what_it_comes_to() -> None:
    """192 kB of three-letter names become a row of over 2 MB: refused, and the run is as it was."""
    pipeline = Replay(Settings())
    names = [f"{number:03x}" for number in range(4_096)]
    outputs = put(pipeline, "runs", "r", document({**RULE, "requires": [a + b for a in "abcdefgh" for b in names]}))
    assert [output.topic for output in outputs] == [DEAD_LETTERS]
    assert dict(outputs[0].headers)["ocp.errors.code"] == b"run_full"
    assert last(put(pipeline, "signals", "r", PASS))["version"] == 1


def test_headers_are_bounded_as_values_are() -> None:
    """A record with over 1 MiB of headers is too large, and a document's headers do not go with a thousand letters."""
    pipeline = Replay(Settings())
    (letter,) = put(pipeline, "signals", "r", PASS, [("h", b"x" * 1_100_000)])
    assert dict(letter.headers)["ocp.errors.code"] == b"too_large"
    bad = document()
    bad["run"]["signals"] = [0] * 1_000
    outputs = put(pipeline, "runs", "r", bad, [("h", b"x" * 200_000)])
    assert sum(len(text or b"") for output in outputs for _, text in output.headers) < 2_000_000


def test_a_message_does_not_quote_without_end() -> None:
    """What is wrong is said in at most 1,000 code points, whatever the record calls its members."""
    bad = document()
    bad["run"]["labels"] = {"x" * 500_000: 1}
    (letter,) = put(Replay(Settings()), "runs", "r", bad)
    assert len(dict(letter.headers)["__streams.errors.message"] or b"") <= 1_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a":' + "[" * 64 + "]" * 64 + ',"a":1}', b"too_deep"),  # hidden by the second `a`
        ('{"a":"' + "[" * 100 + '"}', b"schema"),  # brackets in a string
        ("[" * 64 + "]" * 64, b"schema"),
        ("[" * 65 + "]" * 65, b"too_deep"),
        ("[" * 100_000 + "]" * 100_000, b"too_deep"),
        ("[" * 100_000, b"bad_json"),
        ('{"a":' * 2_000 + "1" + "}" * 1_999, b"bad_json"),
    ],
)
def test_depth_is_that_of_the_text(text: str, code: bytes) -> None:
    """Each level that the text opens counts, and broken text is broken however deep it is."""
    (letter,) = put(Replay(Settings()), "signals", "r", text.encode())
    assert dict(letter.headers)["ocp.errors.code"] == code


def test_a_stale_match_raises_no_alert() -> None:
    """An event that became ambiguous while no document named the commit does not count when one does again."""
    pipeline = Replay(Settings())
    put(pipeline, "runs", "r", document(shas=["abcdef1aaaa"]))
    put(pipeline, "signals", "r", PASS)
    put(pipeline, "commit-events", "abcdef1", REVERT)
    put(pipeline, "runs", "r", document())
    put(pipeline, "runs", "q", document(shas=["abcdef1bbbb"], run="q"))
    outputs = put(pipeline, "runs", "r", document(shas=["abcdef1aaaa"]))
    of_run = [output for output in outputs if output.key == b"r"]
    assert [output.topic for output in of_run] == ["acceptance", "acceptance"]
    assert last(of_run)["violations"] == ["ambiguous_commit:e"]


def test_a_moment_before_the_end_is_zero_days() -> None:
    """`days_after_end` is never a negative zero."""
    pipeline = Replay(Settings())
    put(pipeline, "runs", "r", document())
    event = {**REVERT, "observed_at": "2026-03-01T12:00:00Z"}
    (found,) = last(put(pipeline, "signals", "r", event))["late_events"]
    assert json.dumps(found["days_after_end"]) == "0.0"


def test_one_commit_of_many_runs_and_events_is_not_cubic() -> None:
    """Each of 60 events about one commit reaches each of its 60 runs, once."""
    pipeline = Replay(Settings())
    for number in range(60):
        put(pipeline, "runs", f"r{number}", document(shas=["abcdef1aaaa"], run=f"r{number}"))
    for number in range(60):
        outputs = put(pipeline, "commit-events", "abcdef1", {**REVERT, "id": f"e{number}"})
        assert len([output for output in outputs if output.topic == "acceptance"]) == 60
