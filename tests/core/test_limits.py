"""How much a run holds, and what gives way."""

from typing import Any

import orjson
import pytest

from processor.record import DEAD_LETTERS
from processor.replay import Replay
from processor.settings import Settings

RULE = {"name": "n", "definition": "d", "requires": ["tests", "review"]}


class Played:
    """A pipeline with small limits, and what it said last of the one run."""

    def __init__(self, **limits: int) -> None:
        self.pipeline = Replay(Settings(**limits))  # type: ignore[arg-type]
        self.answer: dict[str, Any] = {}
        self.codes: list[str] = []
        self.transitions: list[str] = []

    def put(self, topic: str, value: object, key: str = "r") -> "Played":
        for output in self.pipeline.put(topic, key.encode(), orjson.dumps(value)):
            if output.topic == "acceptance":
                self.answer = orjson.loads(output.value or b"null")
            elif output.topic == "acceptance-changed":
                self.transitions.append(orjson.loads(output.value or b"")["transition"])
            elif output.topic == DEAD_LETTERS:
                self.codes.append(dict(output.headers)["ocp.errors.code"].decode())  # type: ignore[union-attr]
        return self

    def document(self, **more: Any) -> "Played":
        run = {"id": "r", "ended_at": "2026-03-01T00:00:00Z", "acceptance_rule": RULE, **more}
        return self.put("runs", {"ocp": "0.3", "run": run})

    def signal(self, number: int, value: str = "pass", name: str = "tests", kind: str = "verdict") -> "Played":
        return self.put("signals", signal(number, value, name, kind))


def signal(number: int, value: str, name: str, kind: str = "verdict") -> dict[str, Any]:
    """A signal of the minute `number`."""
    day, minute = divmod(number, 24 * 60)
    at = f"2026-03-{2 + day % 28:02d}T{minute // 60:02d}:{minute % 60:02d}:00Z"
    return {"id": f"s{number:04d}", "kind": kind, "name": name, "value": value, "observed_at": at, "tier": "verified"}


def test_superseded_verdicts_give_way_oldest_first() -> None:
    """A full run takes one more signal; the status, and when it was accepted, stay."""
    played = Played(max_signals_per_run=4).document()
    for number, value in enumerate(["fail", "pass", "fail", "pass"]):
        played.signal(number, value)
    assert not played.answer["truncated"]
    played.signal(4, "pass", "review")
    assert played.answer["truncated"]
    assert (played.answer["status"], played.answer["accepted_at"]) == ("accepted", "2026-03-02T00:04:00Z")
    assert played.codes == []


def test_what_counted_when_it_was_accepted_stays() -> None:
    """However many verdicts follow, a revert still finds that the run had been accepted."""
    played = Played(max_signals_per_run=5).document().signal(0, "pass", "review").signal(1, "pass")
    for number in range(2, 40):
        played.signal(number, "fail" if number % 2 else "pass")
    assert played.answer["accepted_at"] == "2026-03-02T00:01:00Z"
    played.signal(50, "4f2a9c1", "revert", "event")
    assert played.answer["reversed"]
    assert played.transitions[-1] == "reversed"
    assert played.codes == []


def test_events_never_give_way() -> None:
    """A run full of events refuses one more as `run_full` and stays as it was."""
    played = Played(max_signals_per_run=3).document()
    for number in range(3):
        played.signal(number, "x", "hotfix", "event")
    before = played.answer
    played.signal(3, "x", "hotfix", "event")
    assert played.codes == ["run_full"]
    assert played.answer == before
    played.document()
    assert played.answer["version"] == before["version"] + 1


def test_the_first_input_of_a_run_may_be_too_much() -> None:
    """A document that embeds more than a run may hold is refused whole, and leaves no trace of the run."""
    played = Played(max_signals_per_run=3)
    played.document(signals=[signal(number, "x", "hotfix", "event") for number in range(4)])
    assert played.codes == ["run_full"]
    played.signal(0)
    assert played.answer["version"] == 1


def test_bytes_are_limited_too() -> None:
    """A row that would pass MAX_ROW_BYTES lets superseded verdicts go."""
    played = Played(max_row_bytes=3_000).document()
    for number in range(60):
        played.signal(number, "fail" if number % 2 else "pass")
    row = played.pipeline.tables["runs"].rows[b"r"]  # type: ignore[attr-defined]
    assert len(row) <= 3_000
    assert played.answer["truncated"]
    assert played.answer["used"] == ["s0059"]


def test_a_commit_event_for_a_full_run_is_not_lost() -> None:
    """It is dead-lettered under its commit, where it can be redriven."""
    artifact = {"id": "c", "path": "4f2a9c1e7b", "kind": {"value": "commit"}}
    played = Played(max_signals_per_run=1)
    document = {"ocp": "0.3", "run": {"id": "r", "acceptance_rule": RULE}, "artifacts": [artifact]}
    played.put("runs", document).signal(0)
    outputs = list(played.pipeline.put("commit-events", b"4f2a9c1", orjson.dumps(signal(1, "x", "revert", "event"))))
    (letter,) = [output for output in outputs if output.topic == DEAD_LETTERS]
    headers = dict(letter.headers)
    assert (letter.key, headers["ocp.errors.code"]) == (b"4f2a9c1", b"run_full")
    assert headers["__streams.errors.topic"] == b"commit-events"
    assert orjson.loads(letter.value or b"") == signal(1, "x", "revert", "event")


@pytest.mark.parametrize("value", ["accept", "pass"])
def test_the_latest_of_a_name_never_gives_way(value: str) -> None:
    """Names the rule does not ask for keep their latest verdict as well."""
    played = Played(max_signals_per_run=2).document().signal(0, value, "lint").signal(1, value, "format")
    played.signal(2, value)
    assert played.codes == ["run_full"]


def test_a_document_is_not_set_aside_in_pieces_without_end() -> None:
    """Up to 1,000 bad signals are set aside one by one; a document with more is, as a whole."""
    played = Played().document(signals=[0] * 1_000)
    assert played.codes == ["schema"] * 1_000
    assert played.answer["version"] == 1
    played.document(signals=[0] * 1_001)
    assert len(played.codes) == 1_001
    assert played.answer["version"] == 1


def test_many_signals_on_one_run_do_not_lose_the_revert() -> None:
    """Of 50,000 signals, with the verdicts that matter at the beginning and the revert at the end, none is refused."""
    played = Played().document().signal(0, "pass", "review").signal(1, "pass")
    for number in range(2, 50_000):
        played.signal(number, "fail" if number % 2 else "pass", f"name{number % 3}")
    played.signal(50_000, "4f2a9c1", "revert", "event")
    assert (played.answer["reversed"], played.answer["truncated"]) == (True, True)
    assert played.answer["accepted_at"] == "2026-03-02T00:01:00Z"
    assert played.codes == []


def test_a_commit_named_by_many_runs_reaches_them_all() -> None:
    """One revert of a commit that 10,000 runs name reverses each of them."""
    artifact = {"id": "c", "path": "4f2a9c1e7b", "kind": {"value": "commit"}}
    pipeline = Replay(Settings())
    for number in range(10_000):
        document = {"ocp": "0.3", "run": {"id": f"r{number}", "acceptance_rule": {**RULE, "requires": ["tests"]}}}
        list(pipeline.put("runs", f"r{number}".encode(), orjson.dumps({**document, "artifacts": [artifact]})))
        list(pipeline.put("signals", f"r{number}".encode(), orjson.dumps(signal(0, "pass", "tests"))))
    outputs = list(pipeline.put("commit-events", b"4f2a9c1", orjson.dumps(signal(1, "x", "revert", "event"))))
    assert sum(output.topic == "acceptance-reversed" for output in outputs) == 10_000


def test_a_document_of_many_artifacts() -> None:
    """Of 10,000 commits that one run names, a revert of the last is found."""
    shas = [f"{number:07x}{'a' * 33}" for number in range(1, 10_001)]
    artifacts = [{"id": "c", "path": sha, "kind": {"value": "commit"}} for sha in shas]
    played = Played()
    played.put("runs", {"ocp": "0.3", "run": {"id": "r", "acceptance_rule": RULE}, "artifacts": artifacts})
    played.signal(0, "pass", "review").signal(1, "pass")
    played.put("commit-events", signal(2, "x", "revert", "event"), key=shas[-1][:12])
    assert (played.answer["reversed"], played.answer["late_events"][0]["commit"]) == (True, shas[-1])
    assert played.codes == []


def test_a_row_at_the_largest_size() -> None:
    """Verdicts of long names until no more fit: what is refused is dead-lettered, and a revert still counts."""
    played = Played().document().signal(0, "pass", "review").signal(1, "pass")
    big = {"source": {"kind": "ci", "ref": "r" * 500}}
    for number in range(2, 999):
        given = signal(number, "pass", f"{number}".ljust(200, "n")) | big
        played.put("signals", given | {"id": given["id"].ljust(200, "i")})
    row = played.pipeline.tables["runs"].rows[b"r"]  # type: ignore[attr-defined]
    assert 890_000 < len(row) <= 900_000
    assert set(played.codes) == {"run_full"}
    played.signal(1_000, "4f2a9c1", "revert", "event")
    assert played.answer["reversed"]
