"""`evolve`: one event folded into one run. No clock, no randomness, no I/O.

The law: "between two forgettings, the order and repetition of signals and events, and how they interleave with
documents, do not change the state or the answer; only the documents' own order does".
"""

from msgspec.structs import replace

from processor import terms
from processor.decode import Document
from processor.evaluate import is_noted, judge, judge_one, note
from processor.instants import NS
from processor.state import Judged, Match, Row, Run, Signal, appended, decode_file, decode_matches, decode_shown, encode


def observe(run: Run, file: str, signal: Signal) -> None:
    """A signal that came in `signals`. One that the run has already "changes nothing"."""
    row = run.row
    kept = row.files.get(file)
    known = is_noted(run, signal.id)
    if known and kept is not None and signal in decode_file(kept):
        return
    row.files[file] = encode([signal]) if kept is None else appended(kept, encode(signal))
    if known:  # the same in the document or by its commit, or another signal of this id
        judge(run)
    else:
        note(run, file, signal, first=kept is None)
        judge_one(run, file, signal)


def record(run: Run, document: Document) -> None:
    """A newer document: "the signals inside [the previous one] go when a newer document leaves them out"."""
    row = run.row
    said = terms.terms(document)
    run.judged.clauses = terms.clauses(document.fields.run.acceptance_rule)
    row.unanswered = "no_rule" if not said.ruled else None if run.judged.clauses else "empty_rule"
    row.terms, row.shown = encode(said), encode(terms.shown(document))
    files: dict[str, list[Signal]] = {}
    for file, signal in document.signals:
        files.setdefault(file, []).append(signal)
    row.matches = _kept(decode_matches(row.matches), set(said.commits))
    row.embedded = {file: encode(list(dict.fromkeys(found))) for file, found in files.items()}
    row.closes, row.settled = None if said.closes is None else -(-said.closes // NS), False
    _settle(run)
    judge(run)


def tick(run: Run, now: int) -> None:
    """Time, as a record: every input up to `now` was read, in seconds since 1970. The latest counts for what is
    settled, so neither order nor repetition matters; a run without a document has nothing to settle."""
    row = run.row
    row.since = now if row.since is None else row.since
    if row.unanswered != "no_run":
        row.closed = now if row.closed is None else max(row.closed, now)
        _settle(run)


def _settle(run: Run) -> None:
    """Settled is a property of the state: "tick ≥ close"."""
    row = run.row
    settled = row.closes is not None and row.closed is not None and row.closed >= row.closes
    if settled != row.settled:
        row.settled = settled
        row.shown = encode(replace(decode_shown(row.shown), settled=settled))


def forget(run: Run) -> None:
    """A null document: "document and signals go […] and a small stub keeps the counters"."""
    old = run.row
    run.row = Row(version=old.version, seq=old.seq, status=old.status, reversed=old.reversed)
    run.judged = Judged()


def expire(run: Run, now: int) -> None:
    """A run that was left alone long after its window closed: the stub stays, and that it was let go."""
    forget(run)
    run.row.expired, run.row.since = True, now


def match(run: Run, found: Match) -> None:
    """What the commit index says of one event and this run; it replaces what it said of the event before."""
    same = (found.sha, found.file, found.signal)
    others = [m for m in decode_matches(run.row.matches) if (m.sha, m.file, m.signal) != same]
    run.row.matches = _kept([*others, found], set(run.terms().commits))
    judge(run)


def _kept(matches: list[Match], commits: set[str]) -> bytes:
    """An event "counts while the newest document names that commit"; if a later one does, the index tells it again."""
    kept = [
        Match(m.sha, m.file, m.signal, {commit: clear for commit, clear in m.commits.items() if commit in commits})
        for m in matches
    ]
    return encode([m for m in kept if m.commits])


def names(run: Run, found: Match) -> bool:
    """Whether the newest document names a commit that the event may be about."""
    return not found.commits.keys().isdisjoint(run.terms().commits)
