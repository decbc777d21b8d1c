"""The contract's naive reading of all inputs at once, to be compared with what came out."""

import base64
from collections import Counter, defaultdict
from typing import Any

from tests.faults.logs import Entry
from tests.oracle.commits import Cause, clear, match
from tests.oracle.reading import Reading

At = tuple[str, int, int]  # logical topic, partition, offset


class Naive(Reading):
    """The contract's naive reading, judged once at the end: inputs may be in any order, but for a run's documents."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = 0
        self.refused: dict[At, str] = {}  # whole records
        self.parts: set[tuple[At, str]] = set()  # signals inside documents
        self.forgotten: set[str] = set()  # runs whose last input was a null document
        self.events: dict[Any, list[At]] = defaultdict(list)  # a commit event → wherever it was said
        self.applied: dict[At, str] = {}  # which run a document or signal was about
        self.forgets: Counter[str] = Counter()

    def feed(self, topic: str, entry: Entry) -> None:
        """One input, wherever it came in."""
        self.partition = entry.partition
        line = {"topic": topic, "timestamp": entry.timestamp}
        for name, raw in (("key", entry.key), ("value", entry.value)):
            if raw is not None:
                line[f"{name}_base64"] = base64.b64encode(raw).decode()
        self.take(line, entry.offset)

    def bury(self, line: Any, offset: int, code: str, path: str | None = None, embedded: Any = None) -> None:
        at = (line["topic"], self.partition, offset)
        if path is None:
            self.refused[at] = code
        else:
            self.parts.add((at, path))

    def take_event(self, event: Any, cause: Cause) -> None:
        self.events[event].append((cause.topic, self.partition, cause.offset))
        super().take_event(event, cause)

    def tell(self, shas: frozenset[str], first: Any, cause: Cause) -> None:
        """At the end, in `finish`."""

    def finish(self) -> "Naive":
        """Tell each run of each event that matches one of its commits, and whether the pair is clear."""
        known: dict[str, set[str]] = defaultdict(set)  # by their first seven digits, which a match shares
        kept: dict[str, list[Any]] = defaultdict(list)
        for event in self.kept:
            known[event.sha[:7]].add(event.sha)
            kept[event.sha[:7]].append(event)
        documents = [(run, run.document.shas) for run in self.runs.values() if run.document is not None]
        for _, shas in documents:
            for sha in shas:
                known[sha[:7]].add(sha)
        for run, shas in documents:
            for sha in shas:
                for event in kept[sha[:7]]:
                    if match(event.sha, sha):
                        run.told.setdefault(event, {})[sha] = clear(event.sha, sha, sorted(known[sha[:7]]))
        return self

    def evaluate(self, run_id: str, cause: Cause) -> None:
        self.forgotten.discard(run_id)
        if cause.topic != "commit-events":
            self.applied[cause.topic, self.partition, cause.offset] = run_id

    def forget(self, run_id: str, cause: Cause) -> None:
        self.forgotten.add(run_id)
        self.forgets[run_id] += 1
