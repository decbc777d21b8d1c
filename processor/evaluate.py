"""`evaluate`: what follows from a run's document and its set of signals. All of it can be had anew from these two.

`judge` does that. `judge_one` takes the one step that a new signal needs, and comes to the same.
"""

from collections import Counter
from typing import Final

from processor import rule
from processor.instants import DAY, show
from processor.state import (
    EMPTY,
    EVENT,
    TIERS,
    Late,
    Match,
    Run,
    Signal,
    Terms,
    appended,
    decode_file,
    decode_ids,
    decode_matches,
    encode,
)

NOT_LATE: Final = Late()


def judge(run: Run) -> None:
    """Everything, from the document and all signals."""
    row, judged, terms = run.row, run.judged, run.terms()
    matches = named_matches(run, terms)
    files = dict.fromkeys([*row.files, *row.embedded, *(m.file for m in matches if any(m.commits.values()))])
    signals = {file: signals_of(run, file) for file in files}
    judged.clauses = [rule.judge(clause, signals.get(clause.file, ())) for clause in judged.clauses]
    rule.find_accepted_at(judged, lambda: terms.attempts)
    row.late = find_late(run, terms)
    row.count = sum(map(len, signals.values()))
    ids = Counter(signal.id for found in signals.values() for signal in found)
    row.ids = encode(sorted(ids))
    row.violations = sorted(
        {
            *(f"repeated_id:{id_}" for id_, count in ids.items() if count > 1),
            *(f"ambiguous_commit:{id_}" for id_ in _unclear(matches)),
            *(breach for file in files for breach in breaches(terms, file)),
        }
    )


def judge_one(run: Run, file: str, signal: Signal) -> None:
    """The run after a signal that is new to it and was put in its file already."""
    row, judged = run.row, run.judged
    for index, clause in enumerate(judged.clauses):
        if clause.file == file:
            if clause.seen is None or signal.at > clause.seen:
                now = rule.advance(clause, signal.at, [signal])
            else:
                now = rule.judge(clause, signals_of(run, file))
            judged.clauses[index] = now
            if now.spans is not clause.spans:
                rule.find_accepted_at(judged, lambda: run.terms().attempts)
    if file.startswith(EVENT):
        terms = run.terms()
        if file.removeprefix(EVENT) in terms.excludes:
            row.late = find_late(run, terms)


def signals_of(run: Run, file: str) -> list[Signal]:
    """The signals of one kind and name, each once."""
    row = run.row
    found = decode_file(row.files.get(file, EMPTY))
    others = decode_file(row.embedded.get(file, EMPTY))
    if file.startswith(EVENT):
        named = named_matches(run, run.terms())
        others += [m.signal for m in named if m.file == file and any(m.commits.values())]
    return list({*found, *others}) if others else found


def named_matches(run: Run, terms: Terms) -> list[Match]:
    """The matches that say something: "while the newest document names that commit"."""
    found: list[Match] = []
    if run.row.matches == EMPTY:
        return found
    for m in decode_matches(run.row.matches):
        commits = {commit: clear for commit, clear in m.commits.items() if commit in terms.commits}
        if commits:
            found.append(Match(m.sha, m.file, m.signal, commits))
    return found


def _unclear(matches: list[Match]) -> set[str]:
    """Ids of the events that identify no commit of the run, though they might mean one."""
    clear = {(m.file, m.signal) for m in matches if any(m.commits.values())}
    return {m.signal.id for m in matches if (m.file, m.signal) not in clear}


def is_noted(run: Run, id_: str) -> bool:
    """Whether a signal of the run has this id. The letters alone may be part of another, so they only hint."""
    ids = run.row.ids
    return encode(id_) in ids and id_ in decode_ids(ids)


def note(run: Run, file: str, signal: Signal, *, first: bool) -> None:
    """Counts a signal whose id is new to the run; `first`: the first of its kind and name that came in `signals`."""
    row = run.row
    row.ids = appended(row.ids, encode(signal.id))
    row.count += 1
    if first:
        found = breaches(run.terms(), file)
        if found:
            row.violations = sorted({*row.violations, *found})


def breaches(terms: Terms, file: str) -> list[str]:
    """What E195 says "about several records together": the rule wants the file's name to be of another kind."""
    kind, _, name = file.partition(":")
    found = []
    if kind != "verdict" and name in terms.requires:
        found.append(f"E195:requires:{name}")
    if kind != "score" and name == terms.score:
        found.append(f"E195:score:{name}")
    return found


def find_late(run: Run, terms: Terms) -> Late:
    """The events that make the clause false: "observed_at − ended_at ≤ window_days × 24 h (inclusive …)"."""
    reasons: list[str] = []
    found: list[tuple[int, str, bytes, str, Signal]] = []
    for name in dict.fromkeys(terms.excludes):
        late = [s for s in signals_of(run, EVENT + name) if terms.closes is None or s.at <= terms.closes]
        found += [(s.at, s.id, encode(s), name, s) for s in late]
        if late:
            reasons.append(f"late:{name}")
    if not found:
        return NOT_LATE
    found.sort(key=lambda item: item[:3])
    matches = named_matches(run, terms)
    events = [_shown_event(run, name, signal, terms, matches) for _, _, _, name, signal in found]
    return Late(reasons, [s.id for *_, s in found], max(s.tier for *_, s in found), encode(events))


def _shown_event(run: Run, name: str, signal: Signal, terms: Terms, matches: list[Match]) -> dict[str, object]:
    commit, how = _commit(run, EVENT + name, signal, matches)
    return {
        "id": signal.id,
        "name": name,
        "value": signal.value,
        "source": shown_source(signal),
        "observed_at": show(signal.at),
        "days_after_end": None if terms.ended is None else round((signal.at - terms.ended) / DAY, 2),
        "tier": TIERS[signal.tier],
        "commit": commit,
        "match": how,
    }


def _commit(run: Run, file: str, signal: Signal, matches: list[Match]) -> tuple[str | None, str | None]:
    """The run's sha and how it matched; exact before prefix. "Both null for an event that came in `signals`"."""
    same = [m for m in matches if m.file == file and m.signal == signal]
    came_in_signals = (run.row.files.get(file, EMPTY), run.row.embedded.get(file, EMPTY))
    if not same or any(signal in decode_file(kept) for kept in came_in_signals):
        return None, None
    prefix, commit = min((m.sha != commit, commit) for m in same for commit, clear in m.commits.items() if clear)
    return commit, "prefix" if prefix else "exact"


def shown_source(signal: Signal) -> dict[str, str] | None:
    """A signal's source, as OCP has it."""
    if signal.source is None:
        return None
    return {"kind": signal.source} if signal.ref is None else {"kind": signal.source, "ref": signal.ref}
