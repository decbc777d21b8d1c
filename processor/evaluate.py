"""`evaluate`: what follows from a run's document and its set of signals. All of it can be had anew from these two.

`judge` does that. `judge_one` takes the one step that a new signal needs, and comes to the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from processor import rule
from processor.instants import days, show
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
    matches = decode_matches(row.matches)
    signals = all_signals(run, matches)
    judged.clauses = [rule.judge(clause, signals.get(clause.file, ())) for clause in judged.clauses]
    rule.find_accepted_at(judged, lambda: terms.attempts)
    row.late = find_late(run, terms, {name: signals.get(EVENT + name, ()) for name in terms.excludes}, matches)
    row.count = sum(map(len, signals.values()))
    ids = Counter(signal.id for found in signals.values() for signal in found)
    row.ids = encode(sorted(ids))
    row.violations = sorted(
        {
            *(f"repeated_id:{id_}" for id_, count in ids.items() if count > 1),
            *(f"ambiguous_commit:{signal.id}" for _, signal in unclear(matches)),
            *(breach for file in signals for breach in breaches(terms, file)),
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
            matches = decode_matches(row.matches)
            signals = {name: signals_of(run, EVENT + name, matches) for name in terms.excludes}
            row.late = find_late(run, terms, signals, matches)


def all_signals(run: Run, matches: Sequence[Match]) -> dict[str, list[Signal]]:
    """The run's set of signals, by file."""
    matched = [m.file for m in matches if any(m.commits.values())]
    files = dict.fromkeys([*run.row.files, *run.row.embedded, *matched])
    by_file: dict[str, list[Match]] = {}
    for m in matches:
        by_file.setdefault(m.file, []).append(m)
    return {file: signals_of(run, file, by_file.get(file, ())) for file in files}


def signals_of(run: Run, file: str, matches: Sequence[Match] = ()) -> list[Signal]:
    """The signals of one kind and name, each once. `matches`: those of the run, where the file is one of events."""
    row = run.row
    found = decode_file(row.files.get(file, EMPTY))
    others = decode_file(row.embedded.get(file, EMPTY))
    others += [m.signal for m in matches if m.file == file and any(m.commits.values())]
    return list({*found, *others}) if others else found


def unclear(matches: Sequence[Match]) -> list[tuple[str, Signal]]:
    """The events, with their files, that identify no commit of the run, though they might mean one."""
    clear = {(m.file, m.signal) for m in matches if any(m.commits.values())}
    return [event for event in dict.fromkeys((m.file, m.signal) for m in matches) if event not in clear]


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


def find_late(run: Run, terms: Terms, signals: Mapping[str, Sequence[Signal]], matches: Sequence[Match]) -> Late:
    """The events that make the clause false: "observed_at − ended_at ≤ window_days × 24 h (inclusive …)".

    `signals`: by name, in the order of `excludes_events`.
    """
    reasons: list[str] = []
    found: list[tuple[int, str, bytes, str, Signal]] = []
    for name, all_ in signals.items():
        late = [s for s in all_ if terms.window_has(s.at)]
        found += [(s.at, s.id, encode(s), name, s) for s in late]
        if late:
            reasons.append(f"late:{name}")
    if not found:
        return NOT_LATE
    found.sort(key=lambda item: item[:3])
    commits = commits_of_events(run, signals, matches)
    events = [shown_event(name, signal, terms, commits.get((name, signal))) for *_, name, signal in found]
    return Late(reasons, [s.id for *_, s in found], max(s.tier for *_, s in found), encode(events))


def commits_of_events(
    run: Run, names: Iterable[str], matches: Sequence[Match]
) -> dict[tuple[str, Signal], tuple[bool, str]]:
    """Of each event that came by a commit alone, by name: whether it only begins alike, and the run's sha."""
    found: dict[tuple[str, Signal], tuple[bool, str]] = {}
    for m in matches:
        clear = [(m.sha != commit, commit) for commit, is_clear in m.commits.items() if is_clear]
        key = (m.file.removeprefix(EVENT), m.signal)
        if clear:  # "exact" before "prefix", then the smaller sha
            found[key] = min([*clear, *([found[key]] if key in found else [])])
    if found:  # "both null for an event that came in `signals`"
        for name in names:
            for kept in (run.row.files.get(EVENT + name, EMPTY), run.row.embedded.get(EVENT + name, EMPTY)):
                for signal in decode_file(kept):
                    found.pop((name, signal), None)
    return found


def shown_event(name: str, signal: Signal, terms: Terms, commit: tuple[bool, str] | None) -> dict[str, object]:
    """An event as `late_events` has it. `commit`: whether it only begins alike, and the run's sha."""
    return {
        "id": signal.id,
        "name": name,
        "value": signal.value,
        "source": shown_source(signal),
        "observed_at": show(signal.at),
        "days_after_end": None if terms.ended is None else days(signal.at - terms.ended),
        "tier": TIERS[signal.tier],
        "commit": None if commit is None else commit[1],
        "match": None if commit is None else "prefix" if commit[0] else "exact",
    }


def shown_source(signal: Signal) -> dict[str, str] | None:
    """A signal's source, as OCP has it."""
    if signal.source is None:
        return None
    return {"kind": signal.source} if signal.ref is None else {"kind": signal.source, "ref": signal.ref}
