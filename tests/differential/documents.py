"""Random OCP documents: mostly such that every reader agrees on, and for each departure some that are bent its way."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

JSON = dict[str, Any]
ENDED = datetime(2026, 3, 1, 12, tzinfo=UTC)
VERDICTS = ("tests", "review", "merge")
SCORES = ("speed", "quality")
EVENTS = ("revert", "incident", "hotfix", "issue")
TIERS = ("verified", "reported", "heuristic", "asserted")


def moment(rng: random.Random, low: float = -5, high: float = 0) -> str:
    """To the microsecond, in some time zone: two of them are hardly ever one instant."""
    at = ENDED + timedelta(
        seconds=rng.randint(int(low * 86_400), int(high * 86_400)), microseconds=rng.randrange(10**6)
    )
    zone = rng.choice((0, 0, 60, 330, -480))
    text = (at + timedelta(minutes=zone)).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return text + ("Z" if not zone else f"{'+' if zone > 0 else '-'}{abs(zone) // 60:02}:{abs(zone) % 60:02}")


def signal(rng: random.Random, number: int, kind: str, name: str, value: object, at: str) -> JSON:
    made = {"id": f"s{number}", "kind": kind, "name": name, "value": value, "observed_at": at}
    made["tier"] = rng.choice(TIERS)
    if rng.random() < 0.3:
        made["source"] = {"kind": rng.choice(("ci", "user")), "ref": "r"}
    if rng.random() < 0.3:
        made["at_attempt"] = "implement.a1"
    return made


def rule(rng: random.Random) -> JSON:
    made: JSON = {"name": "rule", "definition": "d", "requires": rng.sample(VERDICTS, rng.choice((1, 1, 2, 3)))}
    if rng.random() < 0.35:
        target = rng.choice((5, 5.5, 0, -3))
        made["score"] = {"name": rng.choice(SCORES), "target": target, "better": rng.choice(("higher", "lower"))}
        if rng.random() < 0.4:
            made["requires"] = []
    if rng.random() < 0.5:
        made["excludes_events"] = rng.sample(EVENTS, rng.choice((1, 2, 3)))
    if rng.random() < 0.5:
        made["window_days"] = rng.choice((1, 2, 7, 14, 30))
    return made


def document(rng: random.Random) -> JSON:
    """A good document, with a rule, and signals that often decide."""
    run: JSON = {"acceptance_rule": rule(rng), "ended_at": ENDED.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if rng.random() < 0.1:
        del run["ended_at"]
    words = rng.choice((("pass", "accept"), ("pass", "accept", "pass", "fail"), ("pass", "accept", "fail", "reject")))
    signals = []
    for name in (*run["acceptance_rule"]["requires"], *rng.sample(VERDICTS, 1)):
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            word = rng.choice(words) if rng.random() < 0.97 else "error"
            signals.append(signal(rng, len(signals), "verdict", name, word, moment(rng)))
    wanted = run["acceptance_rule"].get("score") or {"name": rng.choice(SCORES)}
    for _ in range(rng.choice((0, 1, 1, 2))):
        value = rng.choice((4, 5, 5.5, 6, 7.25, -3)) if rng.random() < 0.9 else None
        signals.append(signal(rng, len(signals), "score", wanted["name"], value, moment(rng)))
    if rng.random() < 0.35:
        signals.append(signal(rng, len(signals), "event", rng.choice(EVENTS), "ref", moment(rng, -1, 40)))
    rng.shuffle(signals)
    run["signals"] = signals
    return {"ocp": "0.3", "producer": {"name": "p"}, "privacy": {"profile": "full"}, "run": run, "nodes": []}


# --- bent ------------------------------------------------------------------------------------------


def add(rng: random.Random, made: JSON, kind: str, name: str, value: object, at: str) -> None:
    made["run"]["signals"].append(signal(rng, len(made["run"]["signals"]), kind, name, value, at))


def some(rng: random.Random, made: JSON, kind: str) -> JSON:
    """One of its signals of the kind, the first that was added if there was none."""
    if not any(s["kind"] == kind for s in made["run"]["signals"]):
        name, value = {"verdict": ("tests", "pass"), "score": ("speed", 5), "event": ("revert", "ref")}[kind]
        add(rng, made, kind, name, value, moment(rng, 0, 3))
    found: JSON = rng.choice([s for s in made["run"]["signals"] if s["kind"] == kind])
    return found


def set_rule(**members: Any) -> Callable[[random.Random, JSON], None]:
    def bend(rng: random.Random, made: JSON) -> None:
        some(rng, made, "event")["name"] = rng.choice(("revert", "incident"))
        made["run"]["acceptance_rule"] |= members
        for name in [name for name, value in members.items() if value is ...]:
            del made["run"]["acceptance_rule"][name]

    return bend


def no_rule(rng: random.Random, made: JSON) -> None:
    made["run"]["acceptance_rule"] = None
    if rng.random() < 0.5:
        del made["run"]["acceptance_rule"]
    some(rng, made, "verdict")["name"] = "tests"


def big_numbers(rng: random.Random, made: JSON) -> None:
    low = rng.choice((2**53, 2**60, 2**64 - 2))
    target = {"name": "speed", "target": low + rng.choice((0, 1)), "better": rng.choice(("higher", "lower"))}
    made["run"]["acceptance_rule"] |= {"score": target, "requires": []}
    found = some(rng, made, "score")
    found |= {"name": "speed", "value": low + rng.choice((0, 1)), "observed_at": moment(rng, 0, 1)}


def huge(rng: random.Random, made: JSON) -> None:
    if rng.random() < 0.6:
        made["run"]["acceptance_rule"]["window_days"] = rng.choice((10**9, 10**10, 2**63, 10**30))
    else:
        made["run"]["acceptance_rule"]["score"] = {"name": "speed", "target": 5, "better": "higher"}
        some(rng, made, "score").update(name="speed", value=rng.choice((10**400, -(10**309))))
    some(rng, made, "event")


def tie(rng: random.Random, made: JSON) -> None:
    kind = rng.choice(("verdict", "verdict", "score"))
    one = some(rng, made, kind)
    one["observed_at"] = moment(rng, 1, 2)
    value = rng.choice(("pass", "fail", "error", "accept")) if kind == "verdict" else rng.choice((1, 5, 9))
    twin = {**one, "value": value, "tier": rng.choice(TIERS), "id": rng.choice((one["id"], "twin"))}
    made["run"]["signals"].insert(rng.randint(0, len(made["run"]["signals"])), twin)
    rule = made["run"]["acceptance_rule"]
    if kind == "verdict" and one["name"] not in rule["requires"]:
        rule["requires"].append(one["name"])
    elif kind == "score":
        rule["score"] = {"name": one["name"], "target": 5, "better": rng.choice(("higher", "lower"))}


def late_events(rng: random.Random, made: JSON) -> None:
    one = some(rng, made, "event")
    one["name"] = rng.choice(("revert", "incident"))
    if rng.random() < 0.5:
        made["run"]["signals"].insert(0, dict(one))
    else:
        add(rng, made, "event", rng.choice(("revert", "incident")), "ref", moment(rng, 0, 5))


def nanoseconds(rng: random.Random, made: JSON) -> None:
    one = some(rng, made, rng.choice(("verdict", "event")))
    if one["kind"] == "event":
        days = made["run"]["acceptance_rule"].get("window_days", 14)
        one["name"] = (made["run"]["acceptance_rule"].get("excludes_events") or ["revert"])[0]
        one["observed_at"] = (ENDED + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000000001Z")
    else:
        made["run"]["acceptance_rule"]["requires"] = [one["name"]]
        stem = moment(rng, 1, 2)[:19]
        for word, digits in rng.sample((("fail", "2"), ("pass", "1"), ("pass", "3")), 2):
            add(rng, made, "verdict", one["name"], word, f"{stem}.00000000{digits}Z")


def no_time(rng: random.Random, made: JSON) -> None:
    text = rng.choice(("2026-02-30T12:00:00Z", "2026-03-01T12:00:61Z", "2026-03-02T25:00:00Z", "2026-03-02T23:59:60Z"))
    if rng.random() < 0.2:
        made["run"]["ended_at"] = text
    else:
        some(rng, made, rng.choice(("verdict", "event", "score")))["observed_at"] = text


def after_now(rng: random.Random, made: JSON) -> None:
    if rng.random() < 0.5:
        made["run"].pop("ended_at", None)
    else:
        made["run"]["ended_at"] = "2026-05-30T12:00:00Z"
    one = some(rng, made, "event")
    one["name"] = (made["run"]["acceptance_rule"].get("excludes_events") or ["revert"])[0]
    one["observed_at"] = rng.choice(("2026-06-01T00:00:01Z", "2999-01-01T00:00:00Z"))


def shared(rng: random.Random, made: JSON) -> None:
    made["run"]["ext"] = {
        "dev.loopmath.share": {"z": rng.choice((0.0, 1.0, None)), "q": 0.9, "tier": rng.choice(TIERS)}
    }


def in_another_case(rng: random.Random, made: JSON) -> None:
    one = some(rng, made, "verdict")
    one["value"] = rng.choice((one["value"].upper(), one["value"].title()))


def errors(rng: random.Random, made: JSON) -> None:
    one = some(rng, made, "verdict")
    one |= {"value": "error", "observed_at": moment(rng, 0, 1)}
    made["run"]["acceptance_rule"]["requires"] = [one["name"]]


def unmeasured(rng: random.Random, made: JSON) -> None:
    made["run"]["acceptance_rule"]["score"] = {"name": "speed", "target": 5, "better": "higher"}
    some(rng, made, "score")["name"] = "speed"
    for one in made["run"]["signals"]:
        if one["kind"] == "score":
            one["value"] = None


def nothing(rng: random.Random, made: JSON) -> None:
    made["run"]["signals"] = []


BENDS: tuple[Callable[[random.Random, JSON], None], ...] = (
    set_rule(window_days=0),
    set_rule(excludes_events=[]),
    set_rule(requires=...),
    set_rule(requires=[], score=None),
    set_rule(name=""),
    set_rule(score={"name": "", "target": 5, "better": "higher"}),
    set_rule(requires=["tests", "review", "tests"]),
    no_rule,
    big_numbers,
    huge,
    tie,
    late_events,
    nanoseconds,
    no_time,
    after_now,
    shared,
    in_another_case,
    errors,
    unmeasured,
    nothing,
)


def bent(rng: random.Random) -> JSON:
    """A document bent one way."""
    made = document(rng)
    rng.choice(BENDS)(rng, made)
    return made
