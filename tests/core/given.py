"""Records to give, and `play`: what the pipelines say to them. One run, `run_1`, that ended at ENDED unless said."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import orjson

from processor.record import ACCEPTANCE, CHANGED, DEAD_LETTERS, REVERSED, RUNS, Headers, Output
from processor.replay import Replay
from processor.settings import Settings

RUN = "run_1"
ENDED = "2026-03-01T12:00:00Z"
SHA = "4f2a9c1e7b3d5a6f8091a2b3c4d5e6f708192a3b"

JSON = dict[str, Any]


class Given(NamedTuple):
    """An input record."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int | None = None
    headers: Headers = ()


def day(days: float, ns: int = 0) -> str:
    """So many days after the run's end, and nanoseconds below a second after that."""
    at = datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(days=days)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{ns:09d}" if ns else "") + "Z"


BEFORE = day(-1 / 24)  # an hour before the end


def raw(topic: str, key: str | bytes | None, value: object, timestamp: int | None = None) -> Given:
    """Any record; bytes are taken as they are, other values as JSON."""
    bare = value if isinstance(value, bytes) or value is None else orjson.dumps(value)
    return Given(topic, key.encode() if isinstance(key, str) else key, bare, timestamp)


def document(
    *,
    of: str = RUN,
    rule: Mapping[str, Any] | None = None,
    commits: Iterable[str] = (),
    top: JSON | None = None,
    **run: Any,
) -> JSON:
    """An OCP document, as small as it may be."""
    artifacts = [{"id": f"commit {sha}", "path": sha, "kind": {"value": "commit"}} for sha in commits]
    members = {"id": of, "ended_at": ENDED, "acceptance_rule": rule, **run}
    return {"ocp": "0.3", "run": members, "artifacts": artifacts, **(top or {})}


def rule(*requires: str, **members: Any) -> JSON:
    """An acceptance rule that requires these verdicts; a member that is `...` is left out."""
    found = {"name": "rule", "definition": "for people", "requires": list(requires), **members}
    return {name: value for name, value in found.items() if value is not ...}


def run(*requires: str, of: str = RUN, timestamp: int | None = None, **members: Any) -> Given:
    """A document on `runs`; `run("tests")` is one whose rule requires the verdict `tests`."""
    members.setdefault("rule", rule(*requires))
    return raw(RUNS, of, document(of=of, **members), timestamp)


def forget(of: str = RUN) -> Given:
    """A null document."""
    return raw(RUNS, of, None)


def signal(kind: str, name: str, value: object, at: str, **more: Any) -> JSON:
    """A signal; unless it is given an id, equal ones have the same and others another."""
    made = {"kind": kind, "name": name, "value": value, "observed_at": at, "tier": "verified", **more}
    return {"id": more.get("id") or "/".join(map(str, (name, value, at, *more.values()))), **made}


def verdict(name: str, value: str, at: str = BEFORE, *, of: str = RUN, **more: Any) -> Given:
    """On `signals`, of the run `of`."""
    return raw("signals", of, signal("verdict", name, value, at, **more))


def score(name: str, value: float | None, at: str = BEFORE, *, of: str = RUN, **more: Any) -> Given:
    """On `signals`."""
    return raw("signals", of, signal("score", name, value, at, **more))


def event(name: str, at: str = ENDED, *, of: str = RUN, value: str = "ref", **more: Any) -> Given:
    """On `signals`."""
    return raw("signals", of, signal("event", name, value, at, **more))


def commit_event(
    sha: str, name: str = "revert", at: str = ENDED, *, timestamp: int | None = None, **more: Any
) -> Given:
    """On `commit-events`."""
    return raw("commit-events", sha, signal("event", name, more.pop("value", "ref"), at, **more), timestamp)


def inside(*given: Given) -> list[JSON]:
    """The signals of these records, to be embedded in a document."""
    return [orjson.loads(record.value or b"") for record in given]


class Letter(NamedTuple):
    """A dead letter."""

    code: str
    key: bytes | None
    value: bytes | None
    headers: dict[str, str]


class Played:
    """The pipelines after the given records, and what they said."""

    def __init__(self, given: Sequence[Given], **settings: Any) -> None:
        self._replay = Replay(Settings(**settings))
        self.given: list[Given] = []
        self.outputs: list[Output] = []
        self.then(*given)

    def then(self, *given: Given) -> "Played":
        """More records."""
        for record in given:
            self.given.append(record)
            self.outputs += self._replay.put(*record)
        return self

    def at(self, now: int) -> "Played":
        """Time goes on to `now`, in seconds since 1970."""
        self.outputs += self._replay.settle(now)
        return self

    def rows(self, topic: str = RUNS) -> int:
        """How many the table that reads this topic holds."""
        return len(self._replay.tables[topic])

    def again(self) -> list[str]:
        """What is announced when every signal and event comes once more: nothing, if all is well."""
        before = len(self.transitions())
        return self.then(*[record for record in self.given if record.topic != RUNS]).transitions()[before:]

    def values(self, topic: str, run_id: str = RUN) -> list[Any]:
        """The values on an output topic."""
        return [orjson.loads(o.value or b"null") for o in self.outputs if o.topic == topic and o.key == run_id.encode()]

    def last(self, run_id: str = RUN) -> Any:
        """The run's newest acceptance."""
        return self.values(ACCEPTANCE, run_id)[-1]

    def answer(self, run_id: str = RUN) -> tuple[str, list[str]]:
        """Its status and reasons."""
        last = self.last(run_id)
        return last["status"], last["reasons"]

    def changes(self, run_id: str = RUN) -> list[Any]:
        """The run's records on `acceptance-changed`."""
        return self.values(CHANGED, run_id)

    def transitions(self, run_id: str = RUN) -> list[str]:
        """What they announce."""
        return [change["transition"] for change in self.changes(run_id)]

    def alerts(self, run_id: str = RUN) -> list[bool]:
        """The alert feed: whether the run is reversed."""
        return [change["reversed"] for change in self.values(REVERSED, run_id)]

    def letters(self) -> list[Letter]:
        """The dead letters."""
        found = []
        for output in self.outputs:
            if output.topic == DEAD_LETTERS:
                headers = {name: (text or b"").decode() for name, text in output.headers}
                found.append(Letter(headers["ocp.errors.code"], output.key, output.value, headers))
        return found

    def codes(self) -> list[str]:
        """Their codes."""
        return [letter.code for letter in self.letters()]


def play(*given: Given, **settings: Any) -> Played:
    """What comes of these records, one after the other."""
    return Played(given, **settings)
