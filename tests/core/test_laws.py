"""The laws of the state: order and repetition do not matter, and one step comes to the same as all anew."""

import copy
from collections.abc import Iterable
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from processor.evaluate import judge, signals_of
from processor.record import ACCEPTANCE, CHANGED, COMMIT_EVENTS, DEAD_LETTERS, RUNS, SIGNALS
from processor.replay import Replay
from processor.runs import RunsTable
from processor.settings import Settings
from processor.state import decode_ids, open_run

Input = tuple[str, str, Any]  # topic, key, value

INSTANTS = [
    "2026-03-01T12:00:00Z",
    "2026-03-01T13:00:00+01:00",
    "2026-03-02T12:00:00Z",
    "2026-03-02T12:00:00.000000001Z",
]
IDS = ["a", "b", "c"]
SHAS = ["abcdef1", "abcdef1aaaa", "abcdef1aaaab", "abcdef1bbbb", "1234567"]
RUN_IDS = ["r1", "r2"]


def signals() -> st.SearchStrategy[dict[str, Any]]:
    """Signals that collide: few ids, names and instants."""
    common = {
        "id": st.sampled_from(IDS),
        "observed_at": st.sampled_from(INSTANTS),
        "tier": st.sampled_from(["verified", "asserted"]),
        "at_attempt": st.sampled_from([None, "x.a1", "x.a2"]),
    }
    return st.one_of(
        st.fixed_dictionaries(
            {
                "kind": st.just("verdict"),
                "name": st.sampled_from(["tests", "review"]),
                "value": st.sampled_from(["pass", "accept", "fail", "error"]),
                **common,
            }
        ),
        st.fixed_dictionaries(
            {
                "kind": st.just("score"),
                "name": st.sampled_from(["speed", "tests"]),
                "value": st.sampled_from([None, 1, 1.0, 2, -3]),
                **common,
            }
        ),
        events(),
    )


def events() -> st.SearchStrategy[dict[str, Any]]:
    """Late events, inside and outside the window."""
    return st.fixed_dictionaries(
        {
            "kind": st.just("event"),
            "id": st.sampled_from(IDS),
            "name": st.sampled_from(["revert", "hotfix"]),
            "value": st.just("x"),
            "observed_at": st.sampled_from([*INSTANTS, "2026-05-01T00:00:00Z"]),
            "tier": st.just("reported"),
        }
    )


def documents() -> st.SearchStrategy[dict[str, Any]]:
    """Documents with few rules, commits and embedded signals."""
    rule = st.fixed_dictionaries(
        {
            "name": st.just("n"),
            "definition": st.just("d"),
            "requires": st.sampled_from([[], ["tests"], ["tests", "review"]]),
            "score": st.sampled_from([None, {"name": "speed", "target": 1, "better": "higher"}]),
            "window_days": st.sampled_from([0, 1, 14]),
        }
    )
    return st.builds(
        lambda rule, ended, embedded, shas: {
            "ocp": "0.3",
            "run": {"acceptance_rule": rule, "ended_at": ended, "signals": embedded},
            "artifacts": [{"id": "c", "path": sha, "kind": {"value": "commit"}} for sha in shas],
        },
        st.one_of(st.none(), rule),
        st.sampled_from([None, "2026-03-01T12:00:00Z"]),
        st.lists(signals(), max_size=2),
        st.lists(st.sampled_from(SHAS), max_size=2),
    )


def a_document() -> st.SearchStrategy[Input]:
    """Of one of the runs."""
    return st.builds(
        lambda run, doc: (RUNS, run, {**doc, "run": {**doc["run"], "id": run}}), st.sampled_from(RUN_IDS), documents()
    )


def others() -> st.SearchStrategy[Input]:
    """A signal, or an event about a commit."""
    return st.one_of(
        st.tuples(st.just(SIGNALS), st.sampled_from(RUN_IDS), signals()),
        st.tuples(st.just(COMMIT_EVENTS), st.sampled_from(SHAS), events()),
    )


def play(inputs: Iterable[Input]) -> tuple[Replay, list[tuple[str, Any]]]:
    """The pipelines after these inputs, and what was published: topic and value."""
    pipeline = Replay(Settings())
    out = [
        (output.topic, orjson.loads(output.value or b"null"))
        for topic, key, value in inputs
        for output in pipeline.put(topic, key.encode(), orjson.dumps(value))
    ]
    assert all(topic != DEAD_LETTERS for topic, _ in out)
    return pipeline, out


def runs_of(pipeline: Replay) -> RunsTable:
    """The state."""
    table = pipeline.tables[RUNS]
    assert isinstance(table, RunsTable)
    return table


def seen(pipeline: Replay, out: list[tuple[str, Any]]) -> dict[str, Any]:
    """Each run's set of signals and answer, without what counts inputs."""
    last = {value["run_id"]: value for topic, value in out if topic == ACCEPTANCE}
    found: dict[str, Any] = {}
    for run_id, answer in last.items():
        run = open_run(run_id, runs_of(pipeline).rows[run_id.encode()])
        files = {*run.row.files, *run.row.embedded, "event:revert", "event:hotfix"}
        kept = {(file, signal) for file in files for signal in signals_of(run, file)}
        found[run_id] = kept, {k: v for k, v in answer.items() if k not in ("version", "cause")}
    return found


@given(st.lists(a_document(), max_size=4), st.lists(others(), max_size=10), st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_order_repetition_and_interleaving_do_not_matter(recorded: list[Input], rest: list[Input], random: Any) -> None:
    """Any order and repetition of signals and events among the documents leads to the same state and answer."""
    shuffled = rest + random.choices(rest, k=3) if rest else []
    random.shuffle(shuffled)
    mixed = list(recorded)
    for item in shuffled:
        places = [0, len(mixed)]
        mixed.insert(random.randint(*places), item)
    # documents keep their own order; everything else may stand anywhere
    mixed_documents = iter(recorded)
    mixed = [next(mixed_documents) if item[0] == RUNS else item for item in mixed]
    assert seen(*play(recorded + rest)) == seen(*play(mixed))


@given(st.lists(st.one_of(a_document(), others()), max_size=14))
@settings(max_examples=400, deadline=None)
def test_one_step_comes_to_the_same_as_all_anew(inputs: list[Input]) -> None:
    """What a row keeps beside its document and signals is what follows from these two."""
    pipeline, _ = play(inputs)
    for key, stored in runs_of(pipeline).rows.items():
        run = open_run(key.decode(), stored)
        anew = copy.deepcopy(run)
        judge(anew)
        assert sorted(decode_ids(run.row.ids)) == decode_ids(anew.row.ids)
        anew.row.ids = run.row.ids
        assert (run.row, run.judged) == (anew.row, anew.judged)


@given(st.lists(a_document(), max_size=3), st.lists(others(), max_size=10))
@settings(max_examples=200, deadline=None)
def test_the_same_again_says_nothing(recorded: list[Input], rest: list[Input]) -> None:
    """Signals and events that came before are applied again, and announce nothing."""
    pipeline, _ = play([*recorded, *rest])
    for topic, key, value in rest:
        again = list(pipeline.put(topic, key.encode(), orjson.dumps(value)))
        assert all(output.topic != CHANGED for output in again)


@given(st.lists(st.one_of(a_document(), others()), max_size=14))
@settings(max_examples=200, deadline=None)
def test_changes_are_a_chain(inputs: list[Input]) -> None:
    """`seq` goes 1, 2, 3, …; `from` is the previous `to`; the alert feed is the flips of `reversed`."""
    _, out = play(inputs)
    for run_id in RUN_IDS:
        changes = [v for topic, v in out if topic == CHANGED and v["run_id"] == run_id]
        assert [c["seq"] for c in changes] == list(range(1, len(changes) + 1))
        assert [c["from"] for c in changes] == ["unknown", *(c["to"] for c in changes[:-1])][: len(changes)]
        assert len({c["id"] for c in changes}) == len(changes)
        flips = [
            c
            for was, c in zip([False, *(c["reversed"] for c in changes)], changes, strict=False)
            if was != c["reversed"]
        ]
        assert flips == [v for topic, v in out if topic == "acceptance-reversed" and v["run_id"] == run_id]
        versions = [v["version"] for topic, v in out if topic == ACCEPTANCE and v["run_id"] == run_id]
        assert versions == list(range(1, len(versions) + 1))
