"""The shapes of what is kept of a run. Data only.

A run's state is "(a) its newest document, (b) a *set* of signals"; all else in a row is derived from these two and kept
so that one more signal need not open the others. A row is MessagePack; its `bytes` members are JSON (an instant can
need more than MessagePack's 64 bits) that stays undecoded until somebody needs it and costs next to nothing to carry.
"""

from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Struct

VERDICT: Final = "verdict:"
SCORE: Final = "score:"
EVENT: Final = "event:"
EMPTY: Final = b"[]"
TIERS: Final = ("verified", "reported", "heuristic", "asserted")  # strongest first

encode: Final = msgspec.json.Encoder().encode


class Signal(Struct, array_like=True, frozen=True, gc=False, omit_defaults=True):
    """A signal, without the kind and name it is filed under. "Two signals are one when all of this is equal"."""

    at: int  # observed_at, in nanoseconds since 1970
    id: str
    value: str | int | float | None
    tier: int  # index into TIERS
    attempt: str | None = None
    source: str | None = None
    ref: str | None = None
    unit: str | None = None
    better: str | None = None
    target: int | float | None = None
    scale: str | None = None


class Match(Struct, array_like=True, frozen=True, gc=False):
    """A commit event that may be about this run, as the commit index told it."""

    sha: str  # the event's
    file: str
    signal: Signal
    commits: dict[str, bool]  # the run's; whether the event means this one, and not perhaps another


class Span(Struct, array_like=True, frozen=True, gc=False):
    """A clause held from `start` up to, not including, `end`; who made it hold, if that signal names an attempt."""

    start: int
    end: int | None
    by: tuple[str, str] | None  # signal id, attempt id


class Clause(Struct, array_like=True, frozen=True, gc=False):
    """A verdict or score clause of the rule, and what the signals in its file make of it."""

    file: str
    name: str
    target: int | float | None = None  # of a score
    better: str | None = None
    seen: int | None = None  # instant of the latest signal in its file
    holds: bool | None = None
    reason: str | None = None  # why it does not hold
    used: list[str] = []
    tier: int = -1  # of the weakest signal used; -1: none was
    spans: list[Span] = []


class AtAttempt(Struct, frozen=True, gc=False):
    """`accepted_at_attempt`."""

    id: str
    number: int | float | None


class Judged(Struct, array_like=True):
    """The verdict and score clauses, and when all of them first held."""

    clauses: list[Clause] = []
    accepted_at: int | None = None
    attempt: AtAttempt | None = None


class Late(Struct, array_like=True, frozen=True, gc=False):
    """The late events that count; `shown` is the JSON of `late_events`."""

    reasons: list[str] = []
    used: list[str] = []
    tier: int = -1
    shown: bytes = EMPTY


class Terms(Struct, array_like=True, frozen=True, gc=False):
    """What the newest document says, as far as a later signal may need it."""

    ruled: bool = False  # it has a rule
    requires: list[str] = []
    score: str | None = None
    excludes: list[str] = []
    ended: int | None = None
    closes: int | None = None  # the window's last instant; None: it is always open
    attempts: dict[str, int | float] = {}  # attempt id → number
    commits: list[str] = []  # sorted

    def window_has(self, at: int) -> bool:
        """Whether an event observed then comes before the window closes: "inclusive"."""
        return self.closes is None or at <= self.closes


class Shown(Struct, frozen=True, gc=False):
    """The members of an acceptance that only a document changes."""

    rule: dict[str, object] | None = None
    title: str | None = None
    workspace: str | None = None
    labels: dict[str, str] = {}
    ended_at: str | None = None
    window_closes_at: str | None = None
    settled: bool = False


NO_SHOWN: Final = encode(Shown())
NO_TERMS: Final = encode(Terms())
NO_JUDGED: Final = encode(Judged())


class Row(Struct, array_like=True):
    """Everything kept of one run."""

    version: int = 0  # inputs applied
    seq: int = 0  # changes announced
    status: str = "unknown"  # as announced
    reversed: bool = False
    unanswered: str | None = "no_run"  # why there is no clause: no_run, no_rule, empty_rule
    truncated: bool = False
    count: int = 0  # distinct signals
    late: Late = Late()
    violations: list[str] = []
    judged: bytes = NO_JUDGED
    shown: bytes = NO_SHOWN
    terms: bytes = NO_TERMS
    ids: bytes = EMPTY  # of all signals, each once
    files: dict[str, bytes] = {}  # "verdict:tests" → signals that came in `signals`
    embedded: dict[str, bytes] = {}  # the same for those in the newest document
    matches: bytes = EMPTY
    closes: int | None = None  # when the window closes, in seconds since 1970, rounded up
    closed: int | None = None  # the latest tick: windows that closed by then have, in the same seconds
    settled: bool = False  # the tick is past the window
    told_settled: bool = False  # and the last change said so, of a known status
    since: int | None = None  # the tick since which nothing was heard of the run, in the same seconds
    expired: bool = False  # it was let go; the counters are left


decode_row: Final = msgspec.msgpack.Decoder(Row).decode
encode_row: Final = msgspec.msgpack.Encoder().encode
decode_judged: Final = msgspec.json.Decoder(Judged).decode
decode_terms: Final = msgspec.json.Decoder(Terms).decode
decode_shown: Final = msgspec.json.Decoder(Shown).decode
decode_file: Final = msgspec.json.Decoder(list[Signal]).decode
decode_matches: Final = msgspec.json.Decoder(list[Match]).decode
decode_ids: Final = msgspec.json.Decoder(list[str]).decode


def appended(items: bytes, item: bytes) -> bytes:
    """A JSON list with one more item, without reading it."""
    return items[:-1] + b"," + item + b"]" if len(items) > 2 else b"[" + item + b"]"


@dataclass(slots=True)
class Run:
    """A row that is being worked on."""

    id: str
    row: Row
    judged: Judged
    size: int  # of the encoded row, in bytes, or more
    _read: tuple[bytes, Terms] | None = None

    def terms(self) -> Terms:
        """What the newest document says; read once."""
        if self._read is None or self._read[0] is not self.row.terms:
            self._read = self.row.terms, decode_terms(self.row.terms)
        return self._read[1]

    def encoded(self) -> bytes:
        """The row, as it is kept."""
        self.row.judged = encode(self.judged)
        return encode_row(self.row)


def open_run(run_id: str, stored: bytes | None) -> Run:
    """A run as it was kept, or as it begins: unknown."""
    row = Row() if stored is None else decode_row(stored)
    return Run(run_id, row, decode_judged(row.judged), 0 if stored is None else len(stored))
