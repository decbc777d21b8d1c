"""What a document says: the terms on which its run is judged, and what is shown of it."""

from typing import Final

from processor import rule
from processor.decode import Document
from processor.instants import DAY, NS, YEAR_10000, show
from processor.state import Clause, Shown, Terms
from topics.runs import AcceptanceRule, RunDocument

DEFAULT_EXCLUDES: Final = ["revert", "incident"]
DEFAULT_WINDOW_DAYS: Final = 14


def terms(document: Document) -> Terms:
    """As far as a later signal may need it."""
    return of_rule(document.fields.run.acceptance_rule, document.ended, _numbers(document.fields), document.commits)


def of_rule(
    given: AcceptanceRule | None, ended: int | None, attempts: dict[str, int | float], commits: list[str]
) -> Terms:
    """The terms that a rule sets for a run with this end (in nanoseconds), these attempts and commits."""
    if given is None:
        return Terms(attempts=attempts, commits=commits)
    return Terms(
        True,
        given.requires or [],
        None if given.score is None else given.score.name,
        _excludes(given),
        ended,
        closes(ended, given),
        attempts,
        commits,
    )


def closes(ended: int | None, given: AcceptanceRule) -> int | None:
    """The window's last instant; None for a window that is always open: "past the year 9999 is for ever"."""
    if ended is None:
        return None
    last = ended + int(_window_days(given)) * DAY
    return last if last < YEAR_10000 * NS else None


def clauses(given: AcceptanceRule | None) -> list[Clause]:
    """The rule's verdict and score clauses; "requires absent = nothing required; a name twice counts once"."""
    if given is None:
        return []
    found = [rule.verdict_clause(name) for name in dict.fromkeys(given.requires or ())]
    if given.score is not None:
        found.append(rule.score_clause(given.score.name, given.score.target, given.score.better))
    return found


def shown(document: Document) -> Shown:
    """`rule` "has its defaults filled in"; a window that is for ever has no closing time."""
    run, given = document.fields.run, document.fields.run.acceptance_rule
    last = None if given is None else closes(document.ended, given)
    return Shown(
        None if given is None else _shown_rule(given),
        run.title,
        run.workspace,
        run.labels or {},
        None if document.ended is None else show(document.ended),
        None if last is None else show(last),
    )


def _excludes(given: AcceptanceRule) -> list[str]:
    """Absent "→ revert, incident; present and empty → none"."""
    return DEFAULT_EXCLUDES if given.excludes_events is None else given.excludes_events


def _window_days(given: AcceptanceRule) -> float:
    """Absent "→ 14; 0 means 0"."""
    return DEFAULT_WINDOW_DAYS if given.window_days is None else given.window_days


def _shown_rule(given: AcceptanceRule) -> dict[str, object]:
    score = given.score
    return {
        "name": given.name,
        "requires": given.requires or [],
        "score": score
        and {"name": score.name, "target": score.target, "better": score.better, "scale": score.scale or "linear"},
        "excludes_events": _excludes(given),
        "window_days": _window_days(given),
    }


def _numbers(document: RunDocument) -> dict[str, int | float]:
    """Each attempt's number: "`attempts[].n`, else its place among that node's attempts"."""
    numbers: dict[str, int | float] = {}
    places: dict[str, int] = {}
    for attempt in document.attempts or ():
        place = places[attempt.node] = places.get(attempt.node, 0) + 1
        numbers.setdefault(attempt.id, attempt.n or place)
    return numbers
