"""From JSON to a checked signal or document, or the code it is refused with (contract 7, OCP 0.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .instants import instant
from .records import Refused, sha_of

VERDICTS = {"accept", "reject", "pass", "fail", "error"}
TIERS = ("verified", "reported", "heuristic", "asserted")
MISSING = object()


# --- fields --------------------------------------------------------------------------------------


def need(holds: bool) -> None:
    if not holds:
        raise Refused("schema")


def is_number(value: Any) -> bool:
    """Booleans are no numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text(owner: Mapping[str, Any], field: str, most: int, least: int = 0) -> str:
    """A required string; limits are in code points."""
    value = owner.get(field)
    need(isinstance(value, str) and least <= len(value) <= most)
    return str(value)


def text_or_none(owner: Mapping[str, Any], field: str, most: int) -> str | None:
    """An optional string; an optional field that is null reads as absent."""
    return None if owner.get(field) is None else text(owner, field, most)


def choice(owner: Mapping[str, Any], field: str, words: Iterable[str]) -> str:
    value = owner.get(field)
    need(isinstance(value, str) and value in words)
    return str(value)


def choice_or_none(owner: Mapping[str, Any], field: str, words: Iterable[str]) -> str | None:
    return None if owner.get(field) is None else choice(owner, field, words)


def number_or_none(owner: Mapping[str, Any], field: str) -> int | float | None:
    value = owner.get(field)
    need(value is None or is_number(value))
    return value


def integer_or_none(owner: Mapping[str, Any], field: str, least: int) -> int | None:
    """14.0 is an integer, 14.5 and true are none."""
    value = owner.get(field)
    if value is None:
        return None
    need(is_number(value) and value == int(value) and value >= least)
    return int(value)


def texts_or_none(owner: Mapping[str, Any], field: str, most: int) -> tuple[str, ...] | None:
    value = owner.get(field)
    if value is None:
        return None
    need(isinstance(value, list) and all(isinstance(item, str) and len(item) <= most for item in value))
    return tuple(value)


def objects(owner: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    value = owner.get(field)
    if value is None:
        return []
    need(isinstance(value, list) and all(isinstance(item, dict) for item in value))
    return list(value)


# --- signals -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signal:
    """Two signals are one when all of these are equal: numbers by value, `at` the instant of observed_at."""

    id: str
    kind: str
    name: str
    value: Any
    unit: str | None
    better: str | None
    target: int | float | None
    scale: str | None
    at_attempt: str | None
    at: int
    source: tuple[str, str | None] | None
    tier: str


def signal_of(given: Any) -> Signal:
    """A checked signal: `schema`, then `E195`, then `bad_timestamp`."""
    need(isinstance(given, dict))
    value = given.get("value", MISSING)
    need(value is None or is_number(value) or (isinstance(value, str) and len(value) <= 500))
    source = given.get("source")
    need(source is None or isinstance(source, dict))
    observed_at = given.get("observed_at")
    need(isinstance(observed_at, str))
    checked: dict[str, Any] = {
        "id": text(given, "id", 200, least=1),
        "kind": choice(given, "kind", ("verdict", "score", "event")),
        "name": text(given, "name", 200),
        "value": value,
        "unit": text_or_none(given, "unit", 100),
        "better": choice_or_none(given, "better", ("higher", "lower")),
        "target": number_or_none(given, "target"),
        "scale": choice_or_none(given, "scale", ("linear", "log", "fraction")),
        "at_attempt": text_or_none(given, "at_attempt", 200),
        "source": None if source is None else (text(source, "kind", 100), text_or_none(source, "ref", 500)),
        "tier": choice(given, "tier", TIERS),
    }
    if not value_fits(checked["kind"], value, checked["scale"]):
        raise Refused("E195")
    return Signal(at=instant(observed_at), **checked)


def value_fits(kind: str, value: Any, scale: str | None) -> bool:
    """A verdict is one of five words, an event a string, a score a number or null, in [0, 1] as a fraction."""
    if kind == "verdict":
        return isinstance(value, str) and value in VERDICTS
    if kind == "event":
        return isinstance(value, str)
    if value is None:
        return True
    return is_number(value) and (scale != "fraction" or 0 <= value <= 1)


# --- documents -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    name: str
    target: int | float
    better: str
    scale: str


@dataclass(frozen=True)
class Rule:
    name: str
    requires: tuple[str, ...]
    score: Target | None
    excludes_events: tuple[str, ...]
    window_days: int


@dataclass(frozen=True)
class Document:
    title: str | None
    workspace: str | None
    labels: Mapping[str, str] | None
    ended_at: int | None
    rule: Rule | None
    signals: frozenset[Signal]
    bad_signals: tuple[tuple[int, Any, str], ...]  # place, as given, code
    attempts: tuple[tuple[str, str, int | None], ...]  # id, node, n
    shas: frozenset[str]


def document_of(given: Any, key: str) -> Document:
    """A checked document: `schema`, then `E195`, then `bad_timestamp`, then `key_mismatch`."""
    need(isinstance(given, dict) and given.get("ocp") == "0.3" and isinstance(given.get("run"), dict))
    run = given["run"]
    run_id = text(run, "id", 200, least=1)
    title, workspace = text_or_none(run, "title", 500), text_or_none(run, "workspace", 500)
    labels, ended_at = run.get("labels"), run.get("ended_at")
    need(labels is None or isinstance(labels, dict))
    need(all(isinstance(label, str) and len(label) <= 500 for label in (labels or {}).values()))
    need(ended_at is None or isinstance(ended_at, str))
    rule = rule_of(run.get("acceptance_rule"))
    need(run.get("signals") is None or isinstance(run["signals"], list))
    attempts = tuple(
        (text(a, "id", 200, least=1), text(a, "node", 200), integer_or_none(a, "n", 1))
        for a in objects(given, "attempts")
    )
    shas = shas_of(objects(given, "artifacts"))
    score = None if rule is None else rule.score
    if score is not None and score.scale == "fraction" and not 0 <= score.target <= 1:
        raise Refused("E195")
    ended = None if ended_at is None else instant(ended_at)
    if run_id != key:
        raise Refused("key_mismatch")
    good, bad = embedded(run.get("signals") or [])
    return Document(title, workspace, labels, ended, rule, good, bad, attempts, shas)


def rule_of(given: Any) -> Rule | None:
    """The rule with its defaults filled in."""
    if given is None:
        return None
    need(isinstance(given, dict))
    text(given, "definition", 500)
    excludes = texts_or_none(given, "excludes_events", 200)
    window_days = integer_or_none(given, "window_days", 0)
    return Rule(
        name=text(given, "name", 200),
        requires=texts_or_none(given, "requires", 200) or (),  # absent = nothing required
        score=target_of(given.get("score")),
        excludes_events=("revert", "incident") if excludes is None else excludes,  # present and empty: none
        window_days=14 if window_days is None else window_days,  # absent: 14; 0 means 0
    )


def target_of(given: Any) -> Target | None:
    if given is None:
        return None
    need(isinstance(given, dict) and is_number(given.get("target")))
    return Target(
        name=text(given, "name", 200),
        target=given["target"],
        better=choice(given, "better", ("higher", "lower")),
        scale=choice_or_none(given, "scale", ("linear", "log", "fraction")) or "linear",
    )


def shas_of(artifacts: list[Mapping[str, Any]]) -> frozenset[str]:
    """The `path` or `id` of artifacts of kind commit or merge when it is 7-64 hex digits; both bind."""
    shas = set()
    for artifact in artifacts:
        names = (text(artifact, "id", 200, least=1), text(artifact, "path", 1000, least=1))
        kind: Any = artifact.get("kind")
        need(isinstance(kind, dict) and "value" in kind)
        value = kind["value"]
        need(value is None or (isinstance(value, str) and len(value) <= 100))
        if value in ("commit", "merge"):
            shas |= {sha for sha in map(sha_of, names) if sha is not None}
    return frozenset(shas)


def embedded(given: list[Any]) -> tuple[frozenset[Signal], tuple[tuple[int, Any, str], ...]]:
    """The good signals of a document, and the bad ones, which alone are dead-lettered."""
    good, bad = set(), []
    for place, item in enumerate(given):
        try:
            good.add(signal_of(item))
        except Refused as refused:
            bad.append((place, item, refused.code))
    return frozenset(good), tuple(bad)
