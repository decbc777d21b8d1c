"""A change as a person reads it: one line, coloured on a terminal, harmless whatever the record says."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from processor.harmless import harmless
from processor.tally import Tally
from topics.acceptance import Status
from topics.acceptance_changed import AcceptanceChanged

STYLES = {
    "accepted": "green",
    "reinstated": "green",
    "rejected": "red",
    "reversed": "bold white on red",
    "withdrawn": "yellow",
    "cleared": "cyan",
    "settled": "dim",
    "reopened": "dim",
}
STATUS_STYLES: dict[Status, str] = {"accepted": "green", "rejected": "red", "unknown": "yellow"}
SHA_DIGITS = 10


def console() -> Console:
    """Where changes are shown. Text is taken as it is: no markup, no emoji names, no guessed colours, no wrapping."""
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True)


def when(change: AcceptanceChanged) -> str:
    """When the cause was observed, or recorded; to the second."""
    signal = change.cause.signal
    return harmless((signal.observed_at if signal else change.cause.recorded_at) or "")[:19].replace("T", " ")


def why(change: AcceptanceChanged) -> str:
    """What decided: late events with their days and commit, else the reasons, else the signals used."""
    if change.late_events:
        return "; ".join(
            f"{event.name}{'' if event.days_after_end is None else f' {event.days_after_end:.2f} days after the end'}"
            f"{'' if event.commit is None else f', commit {event.commit[:SHA_DIGITS]}'}"
            for event in change.late_events
        )
    return ", ".join(change.reasons)


def line(change: AcceptanceChanged) -> Text:
    """`when  transition  run  from → to  title  why`."""
    text = Text(f"{when(change):19}  ")
    text.append(f"{change.transition:10}", STYLES[change.transition])
    text.append(f"  {harmless(change.run_id)}  {change.from_} → {change.to}")
    if change.title:
        text.append(f"  “{harmless(change.title)}”", "dim")
    if reason := why(change):
        text.append(f"  {harmless(reason)}")
    return text


def counters(tally: Tally) -> Text:
    """`2,132 inputs applied  1,029 accepted …`."""
    counts = tally.counts()
    text = Text(f"{tally.applied:,} inputs applied")
    for status, style in STATUS_STYLES.items():
        text.append(f"  {counts[status]:,} {status}", style)
    return text.append(f"  {len(tally.reversals):,} reversed", STYLES["reversed"])


def table(tally: Tally, height: int) -> RenderableType:
    """The newest changes that fit a terminal of this height, below the counters."""
    grid = Table(box=None, expand=True, pad_edge=False)
    for column in ("when", "what", "run", "why"):
        share = 1 if column == "why" else None
        grid.add_column(column, header_style="dim", no_wrap=True, overflow="ellipsis", ratio=share)
    for change in list(tally.recent)[-max(1, height - 6) :]:
        transition = Text(change.transition, STYLES[change.transition])
        grid.add_row(when(change), transition, Text(harmless(change.run_id)), Text(harmless(why(change))))
    return Group(counters(tally) if tally.applied else Text("waiting for the worker …", "dim"), Text(), grid)


SUBSCRIBE = """
The same on your broker: `acceptance topics apply`, `acceptance worker`, and then subscribe to the alerts with

  acceptance watch --reversed
  kcat -C -b localhost:9092 -X isolation.level=read_committed -t acceptance-reversed
  kafka-console-consumer.sh --bootstrap-server localhost:9092 --isolation-level read_committed \\
    --topic acceptance-reversed

or in a few lines of Python, which the README has."""


def summary(tally: Tally) -> Text:
    """How it ended: the counters, each reversal, and how to subscribe."""
    text = Text("\nAccepted once, and reverted within the window (days after the run's end):\n\n")
    for change in sorted(tally.reversals.values(), key=when):
        for event in change.late_events:
            days = "" if event.days_after_end is None else f"{event.days_after_end:.2f}"
            text.append(f"  {when(change)[:10]} {days:>6}  ")
            text.append(harmless(change.run_id), "bold")
            text.append(f"  {harmless(change.title)}" if change.title else "")
            text.append(f"  {harmless(event.name)} of {event.commit or harmless(event.value)}\n")
    return text.append("\n").append_text(counters(tally)).append(f"\n{SUBSCRIBE}")
