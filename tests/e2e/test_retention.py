"""What time makes useless goes, on a real broker, with days of seconds."""

import time

from processor.record import ACCEPTANCE, COMMIT_EVENTS, DEAD_LETTERS, RUNS, SIGNALS
from tests.e2e.test_settling import SHA, in_, judged, passed, recorded, transitions
from tests.e2e.world import World, value

SECONDS = 1 / 86_400
SHORT = {
    "SETTLE_GRACE_SECONDS": "0",
    "STATE_RETENTION_DAYS": str(4 * SECONDS),
    "COMMIT_RETENTION_DAYS": str(4 * SECONDS),
}


def kept(world: World, pipeline: str) -> set[bytes]:
    """The keys of the rows that the changelog holds, but for the positions."""
    rows = {m.key(): m.value() for m in world.read(f"{pipeline}-changelog")}
    return {key for key, row in rows.items() if row is not None and key and not key.startswith(b"\xff")}


def test_a_run_expires_and_its_stub_goes(here: World) -> None:
    """Its answer stays; what comes for it is set aside; a restart in between changes nothing."""
    here.create()
    worker = here.worker(**SHORT)
    here.produce([recorded("run_1", in_(-86_400), SHA), passed("run_1", in_(-90_000))])
    worker.wait(lambda: last(here, b"run_1").get("expired"), "run_1 is expired", 60)
    worker.kill()
    worker = here.worker(**SHORT | {"STATE_RETENTION_DAYS": "1"})
    here.produce([passed("run_1", in_(-1))])
    worker.wait(lambda: here.read(DEAD_LETTERS), "its signal is set aside", 60)
    (letter,) = here.read(DEAD_LETTERS)
    assert dict(letter.headers() or ())["ocp.errors.code"] == b"run_expired"
    assert transitions(here, "run_1") == ["accepted", "settled"]
    worker.kill()
    worker = here.worker(**SHORT)
    worker.wait(lambda: not kept(here, "runs") and not kept(here, "commits"), "the stub is gone", 60)
    assert last(here, b"run_1")["expired"], "the answer stays"


def test_a_flood_of_junk_keys_leaves_nothing(here: World) -> None:
    """Keys that mean nothing, dated in any year that a broker takes: neither a row nor an answer of them is kept."""
    here.create()
    junk = judged("s", "verdict", "tests", "pass", in_(0))
    event = judged("e", "event", "revert", "x", in_(0))
    refused: list[object] = []
    producer, years = here.producer(), (1, 1_000_000_000_000, int(time.time() * 1_000))

    def send(topic: str, key: str, given: bytes | None, timestamp: int) -> None:
        producer.produce(
            here.name(topic),
            given,
            key.encode(),
            timestamp=timestamp,
            on_delivery=lambda error, _: refused.append(error),
        )

    for number in range(2_000):
        send(SIGNALS, f"junk-{number}", junk, years[number % 3])
        send(RUNS, f"null-{number}", None, years[number % 3])
        send(COMMIT_EVENTS, f"{number + 1:07x}", event, years[number % 3])
    assert (producer.flush(60), set(refused)) == (0, {None})
    worker = here.worker(**SHORT)
    worker.wait(lambda: len({m.key() for m in here.read("commits-changelog")}) > 2_000, "all events were kept", 60)
    worker.wait(lambda: not kept(here, "runs") and not kept(here, "commits"), "nothing of it is kept", 120)
    answers = {m.key(): m.value() for m in here.read(ACCEPTANCE)}
    assert len(answers) == 4_000
    assert set(answers.values()) == {None}
    assert here.read(DEAD_LETTERS) == []


def last(world: World, run: bytes) -> dict[str, object]:
    """The run's newest acceptance."""
    found = [value(m) for m in world.read(ACCEPTANCE) if m.key() == run]
    return found[-1] if found else {}


def test_signals_wait_for_their_document(here: World) -> None:
    """For as long as COMMIT_RETENTION_DAYS says; a document within it finds them."""
    here.create()
    worker = here.worker(**SHORT | {"COMMIT_RETENTION_DAYS": "1"})
    here.produce([passed("run_1", in_(-90_000))])
    here.produce([(COMMIT_EVENTS, SHA.encode(), judged("e", "event", "revert", "x", in_(-86_400)))])
    worker.wait(lambda: marked(here, "run_1"), "a tick has found it", 60)
    here.produce([recorded("run_1", in_(-86_400), SHA)])
    worker.wait(lambda: transitions(here, "run_1")[:2] == ["accepted", "reversed"], "run_1 is reversed", 60)


def marked(world: World, run: str) -> bool:
    """Whether a tick for this run was read."""
    return any(m.key() == run.encode() for m in world.read("run-inputs")) and world.is_settled()
