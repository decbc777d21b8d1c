"""How commit events match runs (contract 4), and the state of a run that they are sent to."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from .documents import Document, Signal


@dataclass(frozen=True)
class Cause:
    topic: str
    offset: int
    recorded_at: int | None
    signal: Signal | None


@dataclass(frozen=True)
class Event:
    """A kept commit event: a set, so a repetition is the same one and keeps its first coordinates."""

    sha: str
    signal: Signal


@dataclass
class Run:
    """`told` holds each commit event sent to the run, and for each of the run's shas whether that pair was clear."""

    document: Document | None = None
    signals: set[Signal] = field(default_factory=set)
    told: dict[Event, dict[str, bool]] = field(default_factory=dict)
    version: int = 0
    seq: int = 0
    status: str = "unknown"
    reversed: bool = False


def match(event_sha: str, run_sha: str) -> bool:
    """A commit event matches a run when one sha is a prefix of the other."""
    return event_sha.startswith(run_sha) or run_sha.startswith(event_sha)


def clear(event_sha: str, run_sha: str, known: list[str]) -> bool:
    """Of all shas known, those that begin with the shorter of the pair must each be a prefix of the next."""
    shorter = min(event_sha, run_sha, key=len)
    writings = sorted((sha for sha in known if sha.startswith(shorter)), key=len)
    return all(longer.startswith(sha) for sha, longer in pairwise(writings))


@dataclass(frozen=True)
class Matched:
    """The signals that count through a commit, each with its best clear pair, and the ids of the ambiguous ones."""

    clear: dict[Signal, tuple[str, str]]
    ambiguous: set[str]


def matched(run: Run) -> Matched:
    """An event that came through a commit counts while the newest document names that commit."""
    own = run.document.shas if run.document else frozenset()
    pairs: dict[Signal, list[tuple[bool, str]]] = {}
    ambiguous: dict[Signal, bool] = {}
    for event, told in run.told.items():
        for sha, is_clear in told.items():
            if sha in own:
                ambiguous[event.signal] = True
                if is_clear:
                    pairs.setdefault(event.signal, []).append((sha != event.sha, sha))
    best = {signal: min(found) for signal, found in pairs.items()}  # exact before prefix, then the smaller sha
    clear_ones = {signal: (sha, "prefix" if prefix else "exact") for signal, (prefix, sha) in best.items()}
    return Matched(clear_ones, {signal.id for signal in ambiguous if signal not in clear_ones})
