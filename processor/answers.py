"""The answers of `explain` and `what-if` as a person reads them; harmless whatever the state says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from processor.display import SHA_DIGITS, STATUS_STYLES, STYLES
from processor.harmless import harmless
from processor.what_if import Outcome

MARKS: Mapping[object, tuple[str, str]] = {True: ("holds", "green"), False: ("fails", "red"), None: ("open", "yellow")}
MOST_FLIPS = 50  # in a table for people; --json has all


def explanation(found: Mapping[str, Any]) -> RenderableType:
    """The judgement, the clauses one under another, the late events, the history."""
    parts: list[RenderableType] = [_head(found)]
    parts += [_clause(clause) for clause in found["clauses"]]
    parts += [_late(event) for event in found["late_events"]]
    parts += [Text(f"  note      {harmless(note)}", "yellow") for note in _notes(found)]
    parts.append(Text(f"history{'' if found['history_is_whole'] else ' (its beginning is no longer in the topic)'}"))
    parts += [_change(change) for change in found["history"]]
    return Group(*parts)


def _head(found: Mapping[str, Any]) -> Text:
    text = Text(f"{harmless(found['run_id'])}  ")
    text.append(found["status"], STATUS_STYLES[found["status"]])
    text.append(", reversed" if found["reversed"] else "", STYLES["reversed"])
    text.append(f"  “{harmless(found['title'])}”" if found["title"] else "", "dim")
    text.append(f"  as of {found['as_of']}" if found["as_of"] else "")
    ended, closes = found["ended_at"], found["window_closes_at"]
    text.append(f"\n  ended {ended or 'not yet'}, window closes {closes or 'never'}", "dim")
    if found["accepted_at"]:
        attempt = found["accepted_at_attempt"]
        by = "" if attempt is None else f", attempt {harmless(attempt['id'])} (number {attempt['number']})"
        text.append(f"\n  first accepted {found['accepted_at']}{by}", "dim")
    return text


def _clause(clause: Mapping[str, Any]) -> Text:
    mark, style = MARKS[clause["holds"]]
    target = f" {'≤' if clause['better'] == 'lower' else '≥'} {clause['target']}" if "target" in clause else ""
    text = Text("  ").append(f"{mark:8}", style).append(f"  {harmless(clause['file'])}{target}")
    if clause["reason"] is not None:
        text.append(f"  {harmless(clause['reason'])}", style)
    for signal in clause["decided_by"]:
        source = signal["source"]
        by = "" if source is None else f" by {harmless(source['kind'])} {harmless(source.get('ref') or '')}".rstrip()
        value = harmless(str(signal["value"]))
        text.append(f"\n            {value} in {harmless(signal['id'])}, {signal['observed_at']}, {signal['tier']}{by}")
    return text


def _late(event: Mapping[str, Any]) -> Text:
    mark, style = ("late", "red") if event["counts"] else ("unclear", "yellow") if event["ambiguous"] else ("no", "dim")
    days, left = event["days_after_end"], event["days_before_close"]
    text = Text("  ").append(f"{mark:8}", style)
    text.append(f"  {harmless(event['name'])} {harmless(event['id'])}, {event['observed_at']}")
    text.append("" if days is None else f", {days:.2f} days after the end")
    if left is not None:
        text.append(f", {abs(left):.2f} days {'before' if left >= 0 else 'after'} the window closes")
    text.append("" if event["commit"] is None else f", commit {event['commit'][:SHA_DIGITS]} ({event['match']})")
    return text


def _notes(found: Mapping[str, Any]) -> list[str]:
    notes = [f"violation: {violation}" for violation in found["violations"]]
    if found["expired"]:
        notes.append(
            "its window closed long ago and its state was let go; its last record in `acceptance` has the reasons"
        )
    elif not found["clauses"]:
        notes += [f"no clause: {reason}" for reason in found["reasons"] if not reason.startswith("late:")]
    return notes + (["superseded signals were let go (truncated)"] if found["truncated"] else [])


def _change(change: Mapping[str, Any]) -> Text:
    cause = change["cause"]
    by = f"{harmless(cause['topic'])}-{cause['partition']}@{cause['offset']}"
    if cause["signal"]:
        by = f"{harmless(cause['signal']['name'])} {harmless(cause['signal']['id'])} ({by})"
    text = Text(f"  {change['seq']:<4}").append(f"{change['transition']:10}", STYLES[change["transition"]])
    return text.append(f"  {change['from']} → {change['to']}  {by}")


def outcome_table(outcome: Outcome) -> RenderableType:
    """How many flip in which direction, which, and how many alerts there would have been."""
    ways = Counter((str(flip["from"]), str(flip["to"])) for flip in outcome.flips)
    table = Table(box=None, pad_edge=False)
    for column in ("now", "then", "runs"):
        table.add_column(column, justify="right" if column == "runs" else "left", header_style="dim")
    for (old, new), count in sorted(ways.items()):
        table.add_row(Text(old, STATUS_STYLES[old]), Text(new, STATUS_STYLES[new]), f"{count:,}")  # type: ignore[index]
    head = f"{outcome.runs:,} runs, {len(outcome.flips):,} would be judged differently"
    alerts = f"alerts: {outcome.alerts_now:,} now, {outcome.alerts_then:,} under this rule"
    notes = [
        f"{count:,} {what}"
        for count, what in (
            (outcome.without_document, "runs have signals and no document; they were left out"),
            (outcome.expired, "runs expired: their state was let go; they were left out"),
            (outcome.truncated, "runs have let superseded signals go; this rule might have counted them"),
        )
        if count
    ]
    return Group(Text(head), Text(alerts), *map(Text, notes), table, *_flips(outcome.flips))


def _flips(flips: Sequence[Mapping[str, Any]]) -> list[Text]:
    shown = [
        Text(f"  {harmless(flip['run_id'])}  {flip['from']} → {flip['to']}  {harmless(', '.join(flip['reasons']))}")
        for flip in flips[:MOST_FLIPS]
    ]
    rest = len(flips) - len(shown)
    return [*shown, *([Text(f"  and {rest:,} more; --json has all", "dim")] if rest else [])]
