"""Random replay files, biased to what is interesting: collisions, edges, prefixes, forgettings, bad records."""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Callable
from typing import Any

from . import edges

JSON = dict[str, Any]


class World:
    """One file's few names, shas, instants and settings, and a random source that everything is drawn from."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        rng = self.rng
        self.runs = rng.sample(["run_1", "run_2", "run_3", "rün\u0000/4", "\U0001f600" * 200], rng.choice((1, 2, 3)))
        self.names = rng.sample(["tests", "review", "quality", "revert", "e\u0301", "\u00e9", ""], 4)
        self.requires = rng.choice(([], ["tests"], ["tests"], ["tests", "review"], ["tests", "tests"], self.names[:2]))
        self.moments = rng.sample(edges.MOMENTS, rng.choice((2, 4, 8)))
        self.attempts = ["implement.a1", "review.a1", "review.a2"]
        self.ids = [f"s{i}" for i in range(rng.choice((3, 6, 40)))]
        self.calm = rng.random() < 0.5
        stem = "".join(rng.choice("0123456789abcdef") for _ in range(7))
        tails = ["".join(rng.choice("0123456789abcdef") for _ in range(57)) for _ in range(2)]
        full, other = stem + tails[0][:33], stem + tails[1][:33]
        strange = ["0123456789" * 4, "0000000" + tails[0][:33], stem[:6] + "%x" % (int(stem[6], 16) ^ 1) + tails[0]]
        self.shas = [stem, full, full[:10], full[:12], other, other[:9], full + tails[0][33:], *strange]
        self.shas = rng.sample(self.shas, rng.choice((3, 5, len(self.shas))))
        self.odd = rng.random() < 0.4
        self.last: list[JSON] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def moment(self) -> str:
        if self.odd and self.chance(0.2):
            return self.rng.choice(edges.ODD_MOMENTS)
        return self.rng.choice(self.moments)

    def sha(self) -> str:
        sha = self.rng.choice(self.shas)
        if self.chance(0.2):
            sha = sha.upper()
        return f" {sha}\t" if self.chance(0.1) else sha


# --- good values ---------------------------------------------------------------------------------


def signal(world: World, kind: str | None = None) -> JSON:
    rng = world.rng
    kind = kind or rng.choices(("verdict", "score", "event"), (8, 3, 0.3) if world.calm else (3, 2, 1))[0]
    made: JSON = {"id": rng.choice(world.ids), "kind": kind}
    if kind == "verdict":
        made |= {"name": rng.choice(world.requires or world.names), "value": rng.choice(edges.VERDICTS)}
    elif kind == "score":
        made |= {"name": rng.choice(("quality", "quality", "runtime_s")), "value": rng.choice((None, *edges.NUMBERS))}
    else:
        made |= {
            "name": rng.choice(("revert", "revert", "incident", "hotfix", "Revert")),
            "value": rng.choice(("r/1", "", "5")),
        }
    if world.chance(0.1):
        made["name"] = rng.choice((*world.names, "quality"))
    made |= {"observed_at": world.moment(), "tier": rng.choice(edges.TIERS)}
    if world.chance(0.5):
        made["at_attempt"] = rng.choice((*world.attempts, "nobody.a1", None))
    if world.chance(0.5):
        made["source"] = rng.choice(
            (None, {"kind": "ci"}, {"kind": "ci", "ref": None}, {"kind": "user", "ref": "r", "ext": 5})
        )
    extras: JSON = {
        "unit": ("s", None),
        "better": ("higher", "lower", None),
        "target": (1, 1.0, None, 2.5),
        "scale": ("linear", "log", None),
        "ext": ({}, {"a": [1]}, "any", None),
        "unknown": (1, None),
    }
    for name in rng.sample(sorted(extras), rng.choice((0, 0, 0, 1, 2))):
        made[name] = rng.choice(extras[name])
    if kind == "score" and (made["value"] is None or 0 <= made["value"] <= 1) and world.chance(0.3):
        made["scale"] = "fraction"
    return made


def rule(world: World) -> JSON | None:
    rng = world.rng
    if world.chance(0.05):
        return None
    made: JSON = {"name": "rule", "definition": "d"}
    if world.chance(0.9):
        made["requires"] = (
            world.requires if world.chance(0.9) else rng.choice(([], None, ["revert"], ["quality", "tests"]))
        )
    if world.chance(0.4):
        target: JSON = {
            "name": rng.choice(("quality", "runtime_s")),
            "target": rng.choice(edges.NUMBERS),
            "better": rng.choice(("higher", "lower")),
        }
        if world.chance(0.4):
            target["scale"] = "fraction" if 0 <= target["target"] <= 1 else rng.choice(("linear", "log", None))
        made["score"] = rng.choice((target, target, target, None))
    if world.chance(0.5):
        made["excludes_events"] = rng.choice(
            ([], None, ["revert"], ["incident", "revert", "incident"], ["hotfix", "tests"])
        )
    if world.chance(0.6):
        made["window_days"] = rng.choice((*edges.WINDOWS, 14, 14, None))
    return made


def artifact(world: World) -> JSON:
    rng = world.rng
    names = [world.sha(), rng.choice(("art_commit", "main", "0" * 40, "src/a.py", world.sha()))]
    rng.shuffle(names)
    kind = rng.choice(("commit", "commit", "commit", "merge", "code", None, "Commit"))
    return {"id": names[0], "path": names[1], "kind": {"value": kind, "tier": "verified"}, "labels": {"sha": "abcdef1"}}


def document(world: World, run_id: str) -> JSON:
    rng = world.rng
    run: JSON = {"id": run_id}
    if world.chance(0.8):
        run["ended_at"] = rng.choice(
            ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00.0+01:00", world.moment(), None)
        )
    for name, values in (
        ("title", ("t", "é" * 500, None)),
        ("workspace", ("w", "", None)),
        ("labels", ({}, {"a": "b", "": ""}, None)),
    ):
        if world.chance(0.3):
            run[name] = rng.choice(values)
    if world.chance(0.97):
        run["acceptance_rule"] = rule(world)
    if world.chance(0.5):
        run["signals"] = rng.choice((None, [signal(world) for _ in range(rng.choice((0, 1, 1, 2, 4)))]))
        if run["signals"] and world.chance(0.25):
            place = rng.randrange(len(run["signals"]))
            run["signals"][place] = rng.choice(
                (
                    5,
                    [],
                    *(spoil(world, run["signals"][place]) for spoil in (damage, narrowly_damaged, narrowly_damaged)),
                )
            )
    made: JSON = {"ocp": "0.3", "run": run}
    if world.chance(0.5):
        made |= {
            "producer": {"name": "p"},
            "privacy": {"profile": "full"},
            "nodes": [{"id": "implement", "kind": "impl"}],
        }
    if world.chance(0.7):
        made["artifacts"] = [artifact(world) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
    if world.chance(0.6):
        made["attempts"] = [
            {"id": id_, "node": id_.split(".")[0], "n": rng.choice((None, None, 1, 2, 3.0, 7)), "status": "done"}
            for id_ in rng.sample(world.attempts, rng.choice((1, 2, 3)))
        ]
    return made


# --- damage --------------------------------------------------------------------------------------


def damage(world: World, given: JSON, table: edges.Table = edges.SIGNAL_DAMAGE) -> JSON:
    """One or two fields made wrong, or left out."""
    made = copy.deepcopy(given)
    for name, values in world.rng.sample(table, world.rng.choice((1, 1, 2))):
        if world.chance(0.15):
            made.pop(name, None)
        else:
            made[name] = world.rng.choice(values)
    return made


def narrowly_damaged(world: World, given: JSON) -> JSON:
    """A signal of the right types with a value that does not fit its kind, a time that is none, or both."""
    made = copy.deepcopy(given)
    if world.chance(0.6):
        values = {"verdict": ("PASS", "", 5, None), "event": (None, 5, 1.5), "score": ("pass", "5", 1.5, -0.25)}
        made["value"] = world.rng.choice(values[made["kind"]])
        made["scale"] = "fraction"
    if world.chance(0.6):
        made["observed_at"] = world.rng.choice(edges.BAD_MOMENTS)
    return made


def damaged_document(world: World, run_id: str) -> JSON:
    made = document(world, run_id)
    where = world.rng.choice(("parts", "run", "rule", "time"))
    if where == "time":
        made["run"]["ended_at"] = world.rng.choice(edges.BAD_MOMENTS)
        if world.chance(0.5):
            score = {"name": "q", "target": 1.5, "better": "lower", "scale": "fraction"}
            made["run"]["acceptance_rule"] = {"name": "r", "definition": "d", "score": score}
        return made
    if where == "parts":
        return damage(world, made, edges.PARTS_DAMAGE)
    if where == "run":
        made["run"] = damage(world, made["run"], edges.RUN_DAMAGE)
    else:
        made["run"]["acceptance_rule"] = damage(
            world, rule(world) or {"name": "r", "definition": "d"}, edges.RULE_DAMAGE
        )
    return made


# --- records -------------------------------------------------------------------------------------


def raw(value: Any, rng: random.Random) -> JSON:
    """The value as bytes of some writer's taste: compact, spaced or escaped."""
    style = rng.choice(({"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}, {}))
    return {"value_base64": base64.b64encode(json.dumps(value, **style).encode()).decode()}


def good_record(world: World) -> JSON:
    rng = world.rng
    topic = rng.choices(("runs", "signals", "commit-events"), (3, 6, 1 if world.calm else 2.5))[0]
    run_id = rng.choice(world.runs)
    if topic == "runs":
        value = None if world.chance(0.08) else document(world, run_id)
        return {"topic": topic, "key": run_id, "value": value}
    if topic == "signals":
        return {"topic": topic, "key": run_id, "value": signal(world)}
    return {"topic": topic, "key": world.sha(), "value": signal(world, "event")}


def literal_record(world: World) -> JSON:
    """A score, or a rule's target or window, whose number is written in an odd way."""
    rng = world.rng
    run_id = rng.choice(world.runs)
    if world.chance(0.6):
        topic, value = "signals", {**signal(world, "score"), "name": "quality", "value": "@number@", "scale": "linear"}
    else:
        topic, value = "runs", document(world, run_id)
        target = {"name": "quality", "target": "@number@", "better": rng.choice(("higher", "lower"))}
        value["run"]["acceptance_rule"] = {"name": "r", "definition": "d", "score": target}
    text = json.dumps(value).replace('"@number@"', rng.choice(edges.LITERALS))
    return {"topic": topic, "key": run_id, "value_base64": base64.b64encode(text.encode()).decode()}


def twice_named_record(world: World) -> JSON:
    """One JSON object with a member twice: the last wins."""
    value = signal(world)
    text = (
        '{"value":NUMBER,"tier":5,'.replace("NUMBER", world.rng.choice(("1", "true", '"pass"'))) + json.dumps(value)[1:]
    )
    return {
        "topic": "signals",
        "key": world.rng.choice(world.runs),
        "value_base64": base64.b64encode(text.encode()).decode(),
    }


def nested_record(world: World) -> JSON:
    """About the limits of depth: 64 levels are read, 65 are not; broken JSON is no JSON, however deep."""
    levels = world.rng.choice((63, 63, 64, 64, 900, 1022, 1023, 1024, 5000))
    broken = world.chance(0.3)
    opening, closing = world.rng.choice((("[", "]"), ('{"a":', "}")))
    inner = opening * levels + ("1" if opening != "[" else "") + (closing * levels if not broken else "")
    text = json.dumps(signal(world))[:-1] + f',"ext":{inner}}}'
    return {
        "topic": "signals",
        "key": world.rng.choice(world.runs),
        "value_base64": base64.b64encode(text.encode()).decode(),
    }


def bad_bytes_record(world: World) -> JSON:
    record = good_record(world)
    record.pop("value")
    if world.chance(0.2):
        data = world.rng.choice(
            (
                b"\xff",
                b'{"id":"\xc3"}',
                b'{"id":"\xed\xa0\x80"}',
                b"\xc0\xaf",
                json.dumps(signal(world)).encode("utf-16"),
            )
        )
    else:
        data = world.rng.choice((*edges.BAD_JSON, b"null", b'"pass"', b"[1,2]", b"5", b"true"))
    return {**record, "value_base64": base64.b64encode(data).decode()}


def bad_key_record(world: World) -> JSON:
    record = world.rng.choice((good_record, bad_bytes_record))(world)
    record.pop("key")
    if world.chance(0.5):
        return {**record, **world.rng.choice(edges.BAD_KEYS)}
    return {**record, "topic": "commit-events", "key": world.rng.choice(edges.BAD_COMMITS)}


def bad_value_record(world: World) -> JSON:
    rng = world.rng
    run_id = rng.choice(world.runs)
    kind = rng.choice(
        ("signal", "signal", "signal", "event", "event", "document", "document", "null", "kind", "mismatch")
    )
    spoil = rng.choice((damage, narrowly_damaged, narrowly_damaged))
    if kind == "signal":
        return {"topic": "signals", "key": run_id, "value": spoil(world, signal(world))}
    if kind == "event":
        return {"topic": "commit-events", "key": world.sha(), "value": spoil(world, signal(world, "event"))}
    if kind == "document":
        return {"topic": "runs", "key": run_id, "value": damaged_document(world, run_id)}
    if kind == "null":
        return {"topic": rng.choice(("signals", "commit-events")), "key": world.sha(), "value": None}
    if kind == "kind":
        return {"topic": "commit-events", "key": world.sha(), "value": signal(world, rng.choice(("verdict", "score")))}
    return {"topic": "runs", "key": run_id, "value": document(world, run_id + rng.choice(("x", " ")))}


def sized_record(world: World) -> JSON:
    """Exactly at the limit of 1 MiB, or a byte over it."""
    text = json.dumps(signal(world))
    data = text.encode().ljust((1 << 20) + world.rng.choice((0, 1)))
    return {"topic": "signals", "key": world.rng.choice(world.runs), "value_base64": base64.b64encode(data).decode()}


MAKERS: tuple[tuple[float, Callable[[World], JSON]], ...] = (
    (0.79, good_record),
    (0.04, literal_record),
    (0.02, twice_named_record),
    (0.01, nested_record),
    (0.02, bad_bytes_record),
    (0.03, bad_key_record),
    (0.09, bad_value_record),
)


def record(world: World) -> JSON:
    """A new record, or one of the last again; now and then as raw bytes, with a timestamp or with headers."""
    rng = world.rng
    if world.last and world.chance(0.1):
        return copy.deepcopy(rng.choice(world.last))
    made = rng.choices([make for _, make in MAKERS], [weight for weight, _ in MAKERS])[0](world)
    if made.get("value") is not None and world.chance(0.1):
        made |= raw(made.pop("value"), rng)
    if made.get("key") and world.chance(0.05):
        made["key_base64"] = base64.b64encode(made.pop("key").encode()).decode()
    if world.chance(0.6):
        made["timestamp"] = rng.choice((0, 1, 1772362800000, 1772362800120, 1772362800007))
    if world.chance(0.1):
        made["headers"] = rng.choice(([], [["trace", "a"], ["trace", "é"]], [["content-type", "text/plain"]]))
    return made


def records(seed: int, n: int) -> list[JSON]:
    """A file of `n` records; the same seed gives the same file."""
    world = World(seed)
    made: list[JSON] = []
    for _ in range(n):
        made.append(record(world))
        world.last = made[-8:]
    if seed % 50 == 7 and n:
        made[world.rng.randrange(n)] = sized_record(world)
    return made
