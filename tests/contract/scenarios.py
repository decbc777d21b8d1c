"""Where the output topics' examples come from: `python -m tests.contract.scenarios` plays these and writes the files.

Each example is the last record that its scenario puts on its topic.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from processor.instants import NS, instant
from processor.record import ACCEPTANCE, CHANGED, DEAD_LETTERS, REVERSED
from processor.replay import Replay
from processor.settings import Settings
from tests.core.given import (
    SHA,
    Given,
    commit_event,
    day,
    document,
    event,
    forget,
    inside,
    raw,
    rule,
    run,
    score,
    verdict,
)
from topics import TOPICS

RECORDED = 1_772_370_000_125  # 2026-03-01T13:00:00.125Z
CI = {"kind": "ci", "ref": "https://ci.example.com/1"}
TESTED = verdict("tests", "pass", id="sig_tests_ci", at_attempt="review.a2", source=CI)
FAILED = verdict("tests", "fail", "2026-03-01T11:30:00.5Z", id="sig_tests_again", tier="reported")
MEASURED = score("bench_score", 2412.5, id="sig_bench", unit="points", better="higher", target=2400, tier="reported")
REVERT = event("revert", "2026-03-03T11:17:00Z", id="ev_9", tier="reported", source={"kind": "tracker", "ref": "PR 7"})
REVERTED = commit_event(SHA, at="2026-03-03T11:17:00Z", id="ev_9", tier="reported", timestamp=RECORDED)
SCORED = rule("tests", score={"name": "bench_score", "target": 2400, "better": "higher"})
FULL = {"title": "Retry uploads that time out", "workspace": "example/uploader", "labels": {"team": "storage"}}
ATTEMPTS = {"attempts": [{"id": f"review.a{n}", "node": "review", "n": n} for n in (1, 2)]}
RECORDED_RUN = run("tests", timestamp=RECORDED, commits=[SHA], top=ATTEMPTS, **FULL)
FOR_EVER = rule("tests", window_days=3_650_000)

Step = Given | int  # a record; or the time that it is by then, in seconds since 1970
CLOSED = instant(day(14)) // NS
LONG_AGO = CLOSED + 91 * 86_400

ANSWERS: dict[str, Sequence[Step]] = {
    "unknown-before-any-document": [TESTED],
    "unknown-missing": [RECORDED_RUN],
    "unknown-error": [run("tests"), verdict("tests", "error", id="sig_tests_ci")],
    "unknown-unmeasured": [run(rule=SCORED), TESTED, score("bench_score", None, id="sig_bench")],
    "unknown-no-rule": [run(rule=None), TESTED],
    "unknown-empty-rule": [run(), TESTED],
    "accepted": [RECORDED_RUN, TESTED],
    "accepted-by-score": [run(rule=SCORED), TESTED, MEASURED],
    "rejected-failed": [RECORDED_RUN, TESTED, FAILED],
    "rejected-below-target": [run(rule=SCORED), TESTED, score("bench_score", 2399.5, id="sig_bench")],
    "rejected-late-but-never-accepted": [RECORDED_RUN, REVERT],
    "reversed-by-a-signal": [RECORDED_RUN, TESTED, REVERT],
    "reversed-by-a-commit-event": [RECORDED_RUN, TESTED, REVERTED],
    "reversed-by-a-short-sha": [RECORDED_RUN, TESTED, commit_event(SHA[:7], id="ev_9")],
    "running-without-an-end": [run("tests", ended_at=None), TESTED, REVERT],
    "window-for-ever": [run(rule=FOR_EVER), TESTED],
    "beyond-the-calendar-in-UTC": [run("tests", ended_at="9999-12-31T23:00:00-02:00"), TESTED],
    "violations": [
        run(rule=SCORED, commits=[SHA]),
        score("tests", 1, id="sig_1"),
        verdict("bench_score", "pass", id="sig_1"),
        commit_event(SHA[:7], id="ev_1"),
        commit_event(SHA[:7] + "aaaa", id="ev_2"),
    ],
    "forgotten": [RECORDED_RUN, TESTED, forget()],
    "settled": [RECORDED_RUN, TESTED, CLOSED],
    "expired": [RECORDED_RUN, TESTED, CLOSED, LONG_AGO],
}
CHANGES: dict[str, Sequence[Step]] = {
    "accepted": [RECORDED_RUN, TESTED],
    "accepted-by-a-document": [TESTED, RECORDED_RUN],
    "rejected": [RECORDED_RUN, TESTED, FAILED],
    "withdrawn": [RECORDED_RUN, TESTED, run("tests", "review")],
    "withdrawn-forgotten": [RECORDED_RUN, TESTED, forget()],
    "reinstated": [RECORDED_RUN, TESTED, FAILED, verdict("tests", "pass", "2026-03-01T11:45:00Z", id="sig_tests_3")],
    "reversed": [RECORDED_RUN, TESTED, REVERTED],
    "reversed-before-its-verdict-came": [RECORDED_RUN, REVERT, TESTED],
    "cleared": [RECORDED_RUN, TESTED, REVERTED, FAILED, run("tests", commits=[])],
    "settled": [RECORDED_RUN, TESTED, CLOSED],
    "reversed-after-settlement": [RECORDED_RUN, TESTED, CLOSED, REVERTED],
    "reopened": [RECORDED_RUN, TESTED, CLOSED, run(rule=rule("tests", window_days=60))],
}
ALERTS: dict[str, Sequence[Step]] = {
    "reversed": CHANGES["reversed"],
    "resolved-reinstated": [RECORDED_RUN, TESTED, REVERTED, run("tests", commits=[])],
    "resolved-cleared": CHANGES["cleared"],
    "resolved-withdrawn": [RECORDED_RUN, TESTED, REVERTED, forget()],
}
SIGNAL = inside(TESTED)[0]
LETTERS: dict[str, Sequence[Step]] = {
    "too_large": [raw("signals", "run_1", b'{"id": "' + b"x" * 2_000 + b'"}')],
    "bad_key": [raw("signals", None, SIGNAL)],
    "bad_commit": [raw("commit-events", "main", SIGNAL)],
    "bad_encoding": [raw("signals", "run_1", b"\xff")],
    "bad_json": [raw("signals", "run_1", b'{"id": NaN}')],
    "too_deep": [raw("signals", "run_1", b"[" * 65 + b"]" * 65)],
    "schema": [raw("signals", "run_1", {**SIGNAL, "tier": "certain"}, RECORDED)],
    "E195": [verdict("tests", "PASS")],
    "bad_timestamp": [verdict("tests", "pass", "2026-02-29T12:00:00Z")],
    "key_mismatch": [raw("runs", "run_2", document())],
    "run_full": [run(), verdict("tests", "pass"), verdict("review", "pass"), verdict("merge", "accept")],
    "run_expired": [RECORDED_RUN, CLOSED, LONG_AGO, TESTED],
    "E195-embedded": [run("tests", signals=[SIGNAL, {**SIGNAL, "value": "PASS"}])],
}
SMALL = {"max_record_bytes": 1_000, "max_signals_per_run": 2}


def last(topic: str, given: Sequence[Step], limits: dict[str, int]) -> object:
    """The last record on the topic; of a dead letter the headers that were added."""
    replay = Replay(Settings(**limits))  # type: ignore[arg-type]
    outputs = [o for step in given for o in (replay.settle(step) if isinstance(step, int) else replay.put(*step))]
    output = [output for output in outputs if output.topic == topic][-1]
    if topic == DEAD_LETTERS:
        return {name: (text or b"").decode() for name, text in output.headers}
    return orjson.loads(output.value or b"null")


def examples() -> Iterator[tuple[Path, str]]:
    """Each example's file, and what belongs in it."""
    for topic, scenarios in ((ACCEPTANCE, ANSWERS), (CHANGED, CHANGES), (REVERSED, ALERTS), (DEAD_LETTERS, LETTERS)):
        directory = Path(str(TOPICS[topic].__file__)).parent / "valid"
        for name, given in scenarios.items():
            value = last(topic, given, SMALL if topic == DEAD_LETTERS else {})
            yield directory / f"{name}.json", json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, text in examples():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
