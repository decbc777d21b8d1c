"""Dead letters on a real broker: byte for byte what came in, and back in by `acceptance dead-letters redrive`."""

import json
from pathlib import Path
from typing import get_args

import orjson
import pytest
from confluent_kafka import Message
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from processor import record
from processor.lines import decode_line
from tests.commands.cli import acceptance
from tests.e2e.world import World, value
from tests.waiting import until
from topics import TOPICS
from topics.acceptance_dead_letters import Code

GOOD = {"id": "s", "kind": "verdict", "name": "tests", "value": "pass", "tier": "verified"}
GOOD |= {"observed_at": "2026-03-01T12:00:00Z"}
RUN = {"ocp": "0.3", "run": {"id": "r"}}
DAY_MS = 86_400_000


@pytest.fixture
def served(here: World) -> World:
    """Topics and a worker."""
    here.create()
    here.worker()
    return here


def put(world: World, topic: str, key: bytes | None, given: object, **more: object) -> None:
    """Write one record: a value as JSON, or bytes as they are."""
    producer = world.producer()
    raw = given if isinstance(given, bytes) or given is None else orjson.dumps(given)

    def is_taken() -> bool:
        """A broker may need a moment to learn what a topic takes now; until then it refuses."""
        refused: list[object] = []
        producer.produce(
            world.name(topic), value=raw, key=key, on_delivery=lambda error, _: error and refused.append(error), **more
        )
        assert producer.flush(30) == 0
        return not refused

    until(is_taken, f"a record for {topic} is taken")


def allow_any_time(world: World, topic: str) -> None:
    """Records may be from the future."""
    entry = ConfigEntry("message.timestamp.after.max.ms", str(2**63 - 1), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, world.name(topic), incremental_configs=[entry])
    for changed in world.admin.incremental_alter_configs([resource]).values():
        changed.result(30)


def letters(world: World) -> list[Message]:
    """What was set aside, once everything was worked off."""
    world.settle()
    return world.read(record.DEAD_LETTERS)


def code(letter: Message) -> bytes | None:
    return dict(letter.headers() or ())["ocp.errors.code"]


def dead_letters(world: World, *args: str) -> tuple[int, str]:
    """Runs the command; its exit code and output."""
    done = acceptance(world.settings, "dead-letters", *args)
    assert not done.stderr
    return done.returncode, done.stdout


def test_a_bad_record_comes_out_as_it_went_in(served: World) -> None:
    """Key, value and headers are kept, however odd; its neighbours on the partition are applied."""
    odd = [
        ("same", b"1"),
        ("same", b"\xff\x00"),
        ("", b""),
        ("nothing", None),
        *((f"h{n}", b"x") for n in range(1_000)),
    ]
    put(served, record.SIGNALS, b"r", GOOD, partition=1)
    put(served, record.SIGNALS, b"\xffk", b"\x00{", headers=odd, partition=1)
    put(served, record.SIGNALS, b"r", GOOD, partition=1)
    (letter,) = letters(served)
    headers = letter.headers() or []
    assert (letter.key(), letter.value()) == (b"\xffk", b"\x00{")
    assert headers[: len(odd)] == odd
    added = dict(headers[len(odd) :])
    assert added["ocp.errors.code"] == b"bad_key"
    assert (added["__streams.errors.partition"], added["__streams.errors.offset"]) == (b"1", b"1")
    assert [value(m)["version"] for m in served.read(record.ACCEPTANCE)] == [1, 2]


def test_every_code_comes_out_and_its_neighbours_are_applied(here: World) -> None:
    """Each bad example of each input, between two good records on one partition; too large and too many as well."""
    here.environment |= {"MAX_RECORD_BYTES": "150000", "MAX_SIGNALS_PER_RUN": "300"}
    here.create()
    sent: dict[tuple[str, int], tuple[str, bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = {}
    full = [GOOD | {"id": f"e{n}", "kind": "event", "name": "hotfix", "value": "x"} for n in range(301)]
    extra = [
        ("too_large", record.SIGNALS, b"r", b"x" * 150_001),
        ("run_full", record.RUNS, b"full", orjson.dumps(RUN | {"run": {"id": "full", "signals": full}})),
    ]
    bad = [(path.name.partition("-")[0], *as_given(topic, path)) for topic, path in bad_inputs()] + extra
    bad = [
        given for given in bad if given[1:3] != (record.RUNS, None)
    ]  # a broker takes no such record where it compacts
    refused: list[object] = []
    neighbours = {record.RUNS: RUN, record.SIGNALS: GOOD, record.COMMIT_EVENTS: GOOD | {"kind": "event"}}
    keys = {record.RUNS: b"r", record.SIGNALS: b"r", record.COMMIT_EVENTS: b"4f2a9c1"}
    ends = dict.fromkeys(neighbours, 0)
    producer = here.producer()

    def send(topic: str, key: bytes | None, given: bytes | None, **more: object) -> None:
        taken = lambda error, _message: error and refused.append(error)  # noqa: E731
        producer.produce(here.name(topic), value=given, key=key, partition=2, on_delivery=taken, **more)
        ends[topic] += 1

    for number, (code, topic, key, given) in enumerate(bad):
        headers = [("n", b"%d" % number), ("n", b"\xff")]
        send(topic, keys[topic], orjson.dumps(neighbours[topic]))
        sent[topic, ends[topic]] = code, key, given, headers
        send(topic, key, given, headers=headers)
        send(topic, keys[topic], orjson.dumps(neighbours[topic]))
    assert producer.flush(60) == 0
    assert refused == []
    here.worker()
    found = letters(here)
    assert len(found) == len(sent)
    for letter in found:
        added = {name: text.decode() for name, text in letter.headers() or () if text is not None and name != "n"}
        origin = added["__streams.errors.topic"], int(added["__streams.errors.offset"])
        code, key, given, headers = sent.pop(origin)
        assert (added["ocp.errors.code"], added["__streams.errors.partition"]) == (code, "2")
        assert (letter.headers() or [])[:2] == headers
        assert letter.key() == key
        if "ocp.errors.path" in added:
            assert letter.value() in (orjson.dumps(signal) for signal in orjson.loads(given or b"")["run"]["signals"])
        elif code != "too_large":
            assert letter.value() == given
    applied = [m for m in here.read(record.ACCEPTANCE) if m.key() == b"r"]
    own = sum(topic != record.COMMIT_EVENTS for _, topic, _, _ in bad)
    assert len(applied) >= 2 * own  # and the documents that were applied without their bad signal
    assert [value(m)["version"] for m in applied] == list(range(1, len(applied) + 1))
    assert {code for code, *_ in bad} == set(get_args(Code)) - {"run_expired"}  # see test_retention.py


def bad_inputs() -> list[tuple[str, Path]]:
    """The bad examples of each input."""
    directories = {topic: Path(str(TOPICS[topic].__file__)).parent / "invalid" for topic in KEYS}
    return [(topic, path) for topic, directory in directories.items() for path in sorted(directory.iterdir())]


KEYS = {record.RUNS: b"run_1", record.SIGNALS: b"run_1", record.COMMIT_EVENTS: b"4f2a9c1"}


def as_given(topic: str, path: Path) -> tuple[str, bytes | None, bytes | None]:
    """An example as topic, key and value."""
    if path.suffix != ".jsonl":
        return topic, KEYS[topic], path.read_bytes()
    line = decode_line(path.read_bytes(), 1)
    return topic, line.key, line.value


@pytest.mark.parametrize("timestamp", [1, DAY_MS, 4_102_444_800_000 - DAY_MS])
def test_the_record_s_own_time_does_not_lose_its_dead_letter(served: World, timestamp: int) -> None:
    """A record of 1970 or far ahead is set aside today, with its own time in a header."""
    ahead = timestamp > 1_900_000_000_000
    if ahead:  # a broker takes such a time only where the topic says so
        allow_any_time(served, record.SIGNALS)
    put(served, record.SIGNALS, b"r", b"{", timestamp=timestamp)
    (letter,) = letters(served)
    assert dict(letter.headers() or ())["ocp.errors.timestamp"] == b"%d" % timestamp
    assert letter.timestamp()[1] > 1_700_000_000_000
    assert not ahead or letter.timestamp()[1] < timestamp


def test_list_and_show(served: World) -> None:
    """Letters are listed by code, topic and time; 1 says that there are some."""
    put(served, record.SIGNALS, b"r\x1b[31m", b"{")
    put(served, record.RUNS, b"r", {"ocp": "0.2"})
    letters(served)
    status, listed = dead_letters(served, "list", "--json")
    assert (status, {json.loads(line)["code"] for line in listed.splitlines()}) == (1, {"bad_json", "schema"})
    status, listed = dead_letters(served, "list", "--topic", "signals")
    assert status == 1
    assert "bad_json" in listed
    assert "schema" not in listed
    assert "\x1b" not in listed
    assert dead_letters(served, "list", "--since", "2100-01-01")[0] == 0
    place = listed.split()[0]
    status, shown = dead_letters(served, "show", place)
    assert status == 0
    assert shown.rstrip().endswith("{")


def test_a_redrive_that_is_good_by_now_is_applied(served: World) -> None:
    """What was refused by a limit goes back in when there is room; twice changes nothing."""
    document = RUN | {"run": RUN["run"] | {"signals": [GOOD | {"value": "PASS"}, GOOD]}}  # type: ignore[operator]
    put(served, record.RUNS, b"r", document)
    (letter,) = letters(served)
    assert (code(letter), dict(letter.headers() or ())["ocp.errors.path"]) == (b"E195", b"run.signals[0]")
    status, said = dead_letters(served, "redrive")
    assert status == 0
    assert "would go to signals" in said
    assert len(letters(served)) == 1
    assert not served.read(record.SIGNALS)
    dead_letters(served, "redrive", "--execute")
    first, second = letters(served)
    assert second.value() == first.value()
    assert dict(second.headers() or ())["ocp.redrive.attempt"] == b"1"
    names = [name for name, _ in served.read(record.SIGNALS)[0].headers() or ()]
    assert names == ["ocp.redrive.attempt"]


def test_it_gives_up_after_three_attempts(served: World) -> None:
    """A record that came back three times stays where it is, and the command says so."""
    put(served, record.SIGNALS, b"r", b"{", headers=[("ocp.redrive.attempt", b"3")])
    letters(served)
    status, said = dead_letters(served, "redrive", "--execute")
    assert status == 1
    assert "redriven 3 times" in said
    assert len(served.read(record.SIGNALS)) == 1


def test_an_old_document_is_not_put_over_a_newer_one(served: World) -> None:
    """A refused document stays refused once its run has a newer one."""
    put(served, record.RUNS, b"r", {"ocp": "0.2", "run": {"id": "r"}}, partition=0)
    letters(served)
    assert "would go to runs" in dead_letters(served, "redrive")[1]
    put(served, record.RUNS, b"r", RUN, partition=0)
    letters(served)
    status, said = dead_letters(served, "redrive", "--execute")
    assert status == 1
    assert "newer document" in said
    assert len(served.read(record.RUNS)) == 2


def test_what_is_too_large_cannot_be_redriven(here: World) -> None:
    """Only its length and digest are kept, and the command says who has to act."""
    here.environment["MAX_RECORD_BYTES"] = "1000"
    here.create()
    here.worker()
    put(here, record.SIGNALS, b"r", b"x" * 1_001)
    (letter,) = letters(here)
    assert value(letter)["length"] == 1_001
    status, said = dead_letters(here, "redrive", "--execute")
    assert status == 1
    assert "SHA-256" in said


def test_a_broken_producer_is_told(served: World) -> None:
    """A thousand bad records in a row are set aside, and the log says so once."""
    served.produce([(record.SIGNALS, b"r", b"{")] * 1_500)
    assert len(letters(served)) == 1_500
    served.workers[0].wait_said("records in a row are bad")
    assert served.workers[0].said().count("are bad") == 1


def test_a_broken_producer_can_stop_the_worker(here: World) -> None:
    """With STOP_ON_BAD_INPUT the worker ends there, and goes on from there when it is told to."""
    here.create()
    here.produce([(record.SIGNALS, b"r", b"{")] * 1_500)
    stopped = here.worker(STOP_ON_BAD_INPUT="true")
    assert stopped.wait_end() == 65
    assert "STOP_ON_BAD_INPUT" in stopped.said()
    before = len(here.read(record.DEAD_LETTERS))
    assert before < 1_000
    here.worker()
    assert len(letters(here)) == 1_500
