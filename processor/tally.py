"""What a demo has seen so far, and whether that is all: each run's newest acceptance beside what it must become."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from topics.acceptance import Acceptance, Answer, Status
from topics.acceptance_changed import AcceptanceChanged

RECENT_CHANGES = 50


class Outcome(NamedTuple):
    """What does not depend on the order in which the inputs came."""

    status: Status
    reversed: bool
    reasons: tuple[str, ...]
    used: tuple[str, ...]


def outcome(answer: Answer) -> Outcome:
    """The answer without its version, cause and place in the chain."""
    return Outcome(answer.status, answer.reversed, tuple(answer.reasons), tuple(answer.used))


def outcomes(answers: Iterable[Acceptance]) -> dict[str, Outcome]:
    """The last outcome of each run."""
    return {answer.run_id: outcome(answer) for answer in answers}


class Tally:
    """Counts acceptances and changes. Law: `done` only when each run's newest of both is as expected."""

    def __init__(self, expected: Mapping[str, Outcome]) -> None:
        self.expected = expected
        self.applied = 0
        self.recent: deque[AcceptanceChanged] = deque(maxlen=RECENT_CHANGES)
        self.reversals: dict[str, AcceptanceChanged] = {}
        self._newest: dict[str, Status] = {}
        self._unjudged = set(expected)
        self._unannounced = {run for run, end in expected.items() if end.status != "unknown"}

    def judged(self, acceptance: Acceptance) -> None:
        """An acceptance came."""
        self.applied += 1
        self._newest[acceptance.run_id] = acceptance.status
        _mark(self._unjudged, acceptance.run_id, outcome(acceptance) == self.expected.get(acceptance.run_id))

    def changed(self, change: AcceptanceChanged) -> None:
        """A change came."""
        self.recent.append(change)
        if change.reversed:
            self.reversals[change.run_id] = change
        else:
            self.reversals.pop(change.run_id, None)
        end = self.expected.get(change.run_id)
        as_expected = end is not None and (change.to, change.reversed) == (end.status, end.reversed)
        _mark(self._unannounced, change.run_id, as_expected)

    @property
    def done(self) -> bool:
        """Whether all that must come has come."""
        return not self._unjudged and not self._unannounced

    @property
    def waiting(self) -> int:
        """The number of runs whose records are not yet as expected."""
        return len(self._unjudged | self._unannounced)

    def counts(self) -> Counter[Status]:
        """Runs by status; those of which nothing came are unknown."""
        return Counter(self._newest.get(run, "unknown") for run in {*self.expected, *self._newest})


def _mark(left: set[str], run: str, as_expected: bool) -> None:
    if as_expected:
        left.discard(run)
    else:
        left.add(run)
