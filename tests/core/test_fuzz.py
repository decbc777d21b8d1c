"""Anything at all as input: nothing is raised, nothing is lost, and no run is the worse for it."""

import copy
import hashlib
import json
import tracemalloc
from types import SimpleNamespace
from typing import Any, get_args

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from processor import record
from processor.dead_letter_box import ADDED, opened
from processor.dead_letters import REDRIVE_ATTEMPT
from processor.pipelines import pipelines
from processor.settings import Settings
from tests.contract import test_examples as contract
from tests.contract.test_examples import DIRECTORIES, INPUTS, KEYS
from tests.core.given import RUN, Given, event, verdict
from topics.acceptance_dead_letters import AddedHeaders, Code

MIB = 1_048_576
LIMITS = [Settings(), Settings(max_record_bytes=4_000, max_signals_per_run=1, max_row_bytes=3_000)]
EXAMPLES = [
    contract.record(topic, path) for topic in INPUTS for path in sorted((DIRECTORIES[topic] / "valid").iterdir())
]
TREES = [(one.topic, json.loads(one.value)) for one in EXAMPLES if one.value is not None]
NAMES = ["run", "kind", "value", "observed_at", "ended_at", "signals", "scale", "target", "labels", "ext", "\0"]
TEXTS = ["", "\0", "\ud800", "x" * 201, "é" * 501, "y" * 5_000, "fraction", "event", "9999-12-31T23:59:59-23:59", RUN]
NUMBERS = [float("nan"), float("-inf"), 1e300, -0.0, 2**63, 2**64, 10**400, -(10**30), 0.5, True]
HOSTILE = [b"NaN", b"\\ud800", b"\\u0000", b"\0", b"1e999", b"-0", b"{", b"]", b'"', b"\xff", b"\xed\xa0\x80"]
KEY = [None, b"", b"\xff", b"k" * 201, b"0" * 40, b" 4F2A9C1 ", "é".encode() * 200]
DEEP = ["[" * levels + "]" * levels for levels in (62, 70)]
ODD = st.sampled_from([*TEXTS, *NUMBERS, None, [], {}, *map(json.loads, DEEP)])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | ODD
ANYTHING = ODD | st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
)
HEADER = st.tuples(
    st.sampled_from(["traceparent", *sorted(ADDED)]) | st.text(max_size=3),
    st.sampled_from([None, b"1", b"h" * 2_500]) | st.binary(max_size=4),
)


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Each node in a tree: what holds it, and at which name or index."""
    here = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [found for at, node in here for found in ((tree, at), *places(node))]


def bent(draw: Any, tree: Any) -> Any:
    """A tree of which up to four nodes were replaced, dropped, added or doubled."""
    root = [copy.deepcopy(tree)]
    for _ in range(draw(st.integers(0, 4))):
        found = places(root)
        holder, at = found[draw(st.integers(0, len(found) - 1))]
        how = draw(st.sampled_from(["replace", "text", "drop", "add", "double"]))
        if how == "double" and isinstance(holder[at], list):
            holder[at] = holder[at] * 30
        elif how == "drop" and holder is not root:
            del holder[at]
        else:
            at = draw(st.sampled_from(NAMES)) if how == "add" and isinstance(holder, dict) else at
            holder[at] = copy.deepcopy(draw(st.sampled_from(TEXTS) if how == "text" else ANYTHING))
    return root[0]


def broken(draw: Any, text: bytes) -> bytes:
    """Bytes of which a slice was flipped, deleted or doubled, or that something was inserted in."""
    at = draw(st.integers(0, 3_000)) % len(text)
    end = at + draw(st.integers(0, 20))
    part, mask, inserted = text[at:end], draw(st.integers(1, 255)), draw(st.sampled_from(HOSTILE))
    made = draw(st.sampled_from([bytes(byte ^ mask for byte in part), b"", part * 2, inserted + part]))
    return text[:at] + made + text[end:]


@st.composite
def records(draw: Any) -> Given:
    """Bytes, JSON, and examples that were bent or broken, each mostly where it belongs."""
    topic, tree = draw(st.sampled_from(TREES))
    what = draw(st.sampled_from(["bent", "bent", "broken", "both", "json", "bytes", "none"]))
    value: bytes | None = draw(st.binary(max_size=40)) if what == "bytes" else None
    if what not in ("bytes", "none"):  # `dumps` writes NaN and lone surrogates as they are often written
        made = draw(ANYTHING) if what == "json" else tree if what == "broken" else bent(draw, tree)
        value = json.dumps(made).encode()
        value = broken(draw, value) if what in ("broken", "both") else value
    topic = draw(st.sampled_from([topic] * 5 + [*INPUTS]))
    key = draw(st.sampled_from([KEYS[topic].encode()] * 30 + KEY) | st.just(KEYS[topic].encode()))
    timestamp = draw(st.sampled_from([None, 0, -1, -(2**63), 2**63 - 1]))
    return Given(topic, key, value, timestamp, draw(st.lists(HEADER, max_size=3)))


class Tables:
    """A table of each pipeline, and a batch on it; `rows`: of other ones' batches."""

    def __init__(self, limits: Settings, rows: "Tables | None" = None, *, belongs: bool = True) -> None:
        tables = [pipeline.table(lambda _: belongs) for pipeline in pipelines(limits)]
        for table, batch in zip(tables, rows.batches if rows else (), strict=rows is not None):
            table.update(batch.changes())
        self.batches = [table.batch() for table in tables]

    def step(self, offset: int, one: Given | record.Output) -> list[record.Output]:
        """What one record leads to."""
        timestamp = one.timestamp if isinstance(one, Given) else None
        batch = self.batches[one.topic in (record.COMMIT_EVENTS, record.COMMIT_INDEX)]
        return batch.step(record.Record(one.topic, 0, offset, timestamp, one.key, one.value, one.headers))

    def put(self, offset: int, one: Given | record.Output) -> list[record.Output]:
        """And what that leads to by way of the internal topics."""
        outputs = self.step(offset, one)
        inner = [output for output in outputs if output.topic in (record.COMMIT_INDEX, record.RUN_INPUTS)]
        return [*outputs, *(found for output in inner for found in self.put(offset, output))]


def added_to(letter: record.Output, one: Given) -> AddedHeaders:
    """Why it is there, as the command line reads it; key and other headers are the record's."""
    at = {"partition": 0, "offset": 0, "timestamp": 0}
    found = opened(SimpleNamespace(**at, key=letter.key, value=letter.value, headers=letter.headers))
    assert found is not None, "not a letter by the contract"
    assert found.key == one.key
    assert found.headers == [header for header in one.headers if header[0] != REDRIVE_ATTEMPT]
    assert found.added.code in get_args(Code)
    return found.added


@given(records(), st.sampled_from(LIMITS))
@example(verdict("tests", "pass", "no time", run=1), LIMITS[0])  # a signal is no document
@settings(max_examples=700, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_record_is_applied_or_set_aside(one: Given, limits: Settings) -> None:
    """Nothing is raised. What is not applied is one dead letter, byte for byte, and it does not matter who reads it."""
    outputs = Tables(limits).step(7, one)
    if outputs[0].topic == record.DEAD_LETTERS:
        (letter,) = outputs
        expected, added = one.value, added_to(letter, one)
        if added.code == "too_large" and expected is not None:
            expected = orjson.dumps({"length": len(expected), "sha256": hashlib.sha256(expected).hexdigest()})
        assert (letter.value, added.path) == (expected, None)
    else:
        assert outputs[0].topic == (record.COMMIT_INDEX if one.topic == record.COMMIT_EVENTS else record.ACCEPTANCE)
        for letter in (output for output in outputs if output.topic == record.DEAD_LETTERS):
            index = int(str(added_to(letter, one).path).removeprefix("run.signals[").removesuffix("]"))
            assert orjson.loads(letter.value or b"") == orjson.loads(one.value or b"")["run"]["signals"][index]
    passed_on = Tables(limits, belongs=False).put(7, one)
    assert [output for output in passed_on if output.topic != record.RUN_INPUTS] == Tables(limits).put(7, one)


@given(st.lists(records(), max_size=20), st.sampled_from(LIMITS))
@example([event("hotfix"), event("revert")], LIMITS[1])  # the second one is too much for the run
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_bad_input_never_poisons_a_run(inputs: list[Given], limits: Settings) -> None:
    """The rows, once restored, and the answer to a good signal are those of a run that never saw the bad ones."""
    struck, spared = Tables(limits), Tables(limits)
    for offset, one in enumerate(inputs):
        if struck.put(offset, one)[0].topic != record.DEAD_LETTERS:
            spared.put(offset, one)
    assert [batch.changes() for batch in struck.batches] == [batch.changes() for batch in spared.batches]
    answer = Tables(limits, struck).put(20, verdict("tests", "pass", id="good"))
    assert answer == Tables(limits, spared).put(20, verdict("tests", "pass", id="good"))
    assert limits != LIMITS[0] or answer[0].topic == record.ACCEPTANCE


def many(item: bytes, size: int = MIB - 200) -> bytes:
    """An item as often as it fits, each with a number of its own where it has a `%05x`."""
    count = size // (len(item) + (2 if b"%" in item else 1))
    return b",".join([item] * count) % (tuple(range(count)) if b"%" in item else ())


SIGNAL = (verdict("tests", "pass").value or b"")[:-1] + b', "x": %b}'
DOCUMENT = b'{"ocp": "0.3", "run": {"id": "run_1"}, %b}'
OF_RUN = b'{"ocp": "0.3", "run": {"id": "run_1", %b}}'
RULE = OF_RUN % b'"acceptance_rule": {"name": "n", "definition": "d", "requires": [%b]}'
SHAPES = {
    "members": (record.SIGNALS, SIGNAL % b"{%b}" % many(b'"%05x":0')),
    "objects": (record.RUNS, DOCUMENT % b'"x": [%b]' % many(b"{}")),
    "signals": (record.RUNS, OF_RUN % b'"signals": [%b]' % many(b"0")),
    "names": (record.RUNS, RULE % many(b'"%05x"')),
    "bad-names": (record.RUNS, RULE % many(b"0", MIB // 16)),
    "bad-labels": (record.RUNS, OF_RUN % b'"labels": {%b}' % many(b'"%05x":0', MIB // 16)),
    "bad-attempts": (record.RUNS, DOCUMENT % b'"attempts": [%b]' % many(b"{}", MIB // 16)),
    "bad-artifacts": (record.RUNS, DOCUMENT % b'"artifacts": [%b]' % many(b"{}", MIB // 16)),
    **{f"nested-{n}": (record.SIGNALS, b"[" * n + b"]" * n) for n in (64, 65, 255, 1_024, 100_000, 1_000_000)},
    "nested-often": (record.COMMIT_EVENTS, b"[%b]" % many(b"[" * 65 + b"]" * 65, MIB // 4)),
    "string": (record.SIGNALS, SIGNAL % b'"%b"' % (b"x" * 1_000_000 + "😀".encode())),
    **{f"{len(n)}-digits": (record.SIGNALS, SIGNAL % n) for n in (b"1e999", b"9" * 400, b"9" * 1_000_000)},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_memory_is_bounded(shape: str) -> None:
    """Reading one input takes at most 120 times its bytes and 2 MB more; 95 times was measured, for `names`."""
    (topic, value), tables = SHAPES[shape], Tables(LIMITS[0])
    tracemalloc.start()
    assert tables.step(0, Given(topic, KEYS[topic].encode(), value))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 120 * len(value) + 2_000_000
