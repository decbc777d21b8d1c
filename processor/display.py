"""A change as a person reads it: one line, coloured on a terminal, harmless whatever the record says."""

from rich.console import Console
from rich.text import Text

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
LONGEST_FIELD = 200
SHA_DIGITS = 10


def harmless(text: str) -> str:
    """The text with nothing in it that a terminal obeys: control and format characters (escape sequences, changes of
    writing direction, line breaks) are written as escapes, and what is too long is cut."""
    cut = text if len(text) <= LONGEST_FIELD else text[: LONGEST_FIELD - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)


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
