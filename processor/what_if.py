"""The same runs under another rule, from their state alone. Nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from processor import terms
from processor.acceptance import Answer, evaluate
from processor.evaluate import judge
from processor.instants import instant
from processor.state import Judged, Run, Shown, decode_shown, encode
from topics.runs import AcceptanceRule


@dataclass(frozen=True, slots=True)
class Choice:
    """Which runs: those that ended at `since` or later (nanoseconds since 1970), with all of these labels."""

    since: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def has(self, shown: Shown) -> bool:
        """Whether a run of which this is shown is one of them."""
        if self.since is not None and (shown.ended_at is None or instant(shown.ended_at) < self.since):
            return False
        return all(shown.labels.get(name) == value for name, value in self.labels.items())


@dataclass(slots=True)
class Outcome:
    """What another rule makes of runs, added up."""

    runs: int = 0
    without_document: int = 0
    expired: int = 0
    truncated: int = 0  # of the runs: signals were let go that the other rule might have counted
    alerts_now: int = 0  # runs that are reversed
    alerts_then: int = 0
    flips: list[dict[str, object]] = field(default_factory=list)

    def take(self, run: Run, choice: Choice, rule: AcceptanceRule) -> None:
        """One run more. It is changed by it."""
        if run.row.unanswered == "no_run":
            self.without_document += bool(run.row.count)
            self.expired += run.row.expired
            return
        if not choice.has(decode_shown(run.row.shown)):
            return
        before = evaluate(run)
        after = under(run, rule)
        self.runs += 1
        self.truncated += run.row.truncated
        self.alerts_now += before.reversed
        self.alerts_then += after.reversed
        if (before.status, before.reversed) != (after.status, after.reversed):
            self.flips.append(
                {
                    "run_id": run.id,
                    "from": before.status,
                    "to": after.status,
                    "reversed_now": before.reversed,
                    "reversed_then": after.reversed,
                    "reasons": after.reasons,
                }
            )


def under(run: Run, rule: AcceptanceRule) -> Answer:
    """The judgement on a run that has a document, had this been its rule. The run is changed by it."""
    old, shown = run.terms(), decode_shown(run.row.shown)
    ended = None if shown.ended_at is None else instant(shown.ended_at)
    run.row.terms = encode(terms.of_rule(rule, ended, old.attempts, old.commits))
    run.judged = Judged(terms.clauses(rule))
    run.row.unanswered = None if run.judged.clauses else "empty_rule"
    judge(run)
    return evaluate(run)
