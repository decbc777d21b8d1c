"""The commits pipeline: which event is about which run.

"A commit event matches a run when one sha is a prefix of the other; it goes to every run it matches, whether the run is
recorded before or after it." Shas that may be writings of one commit share their first digits, so all that can decide a
match is in one group. A group is two sets, events and what documents name; neither order nor repetition changes it.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from processor import internal
from processor.acceptance import Origin
from processor.dead_letters import dead_letter
from processor.decode import BadRecord, check_size, decode_commit_event, decode_json, decode_sha
from processor.internal import PREFIX, Binding, Event
from processor.record import COMMIT_EVENTS, Changes, Output, Record
from processor.state import Match, encode

Pair = tuple[bytes, str]  # event key, run id


class Group:
    """The events and bindings whose shas begin with the same digits."""

    def __init__(self, entries: Mapping[bytes, bytes]) -> None:
        self.events: dict[bytes, Event] = {}
        self.commits: dict[str, list[str]] = {}  # run id → what its newest document names
        self.runs: dict[str, set[str]] = {}  # sha → runs that name it
        for raw in entries.values():
            entry = internal.decode_entry(raw)
            if isinstance(entry, Event):
                self.events[event_key(entry)] = entry
            else:
                self._bind(entry)

    def _bind(self, binding: Binding) -> None:
        for sha in self.commits.pop(binding.run_id, ()):
            self.runs[sha].discard(binding.run_id)
            if not self.runs[sha]:
                del self.runs[sha]
        if binding.commits:
            self.commits[binding.run_id] = binding.commits
        for sha in binding.commits:
            self.runs.setdefault(sha, set()).add(binding.run_id)

    def known(self) -> set[str]:
        """All shas: "from newest documents and kept commit events"."""
        return {*self.runs, *(event.sha for event in self.events.values())}

    def matches(self, runs: Iterable[str] | None = None) -> dict[Pair, Match]:
        """Each event with each run that it may be about; of all runs, or of these."""
        known = self.known()
        found: dict[Pair, Match] = {}
        for key, event in self.events.items():
            related = [sha for sha in self.runs if sha.startswith(event.sha) or event.sha.startswith(sha)]
            clear = {sha for sha in related if _is_one_commit(min(sha, event.sha, key=len), known)}
            for run_id in {run for sha in related for run in self.runs[sha]} if runs is None else runs:
                named = [sha for sha in self.commits.get(run_id, ()) if sha in related]
                if named:
                    commits = {sha: sha in clear for sha in named}
                    found[key, run_id] = Match(event.sha, event.file, event.signal, commits)
        return found

    def add(self, event: Event) -> list[Output]:
        """A commit event: to the runs it may be about, then each older one that it makes ambiguous."""
        key = event_key(event)
        settled = event.sha in self.known()  # no sha is new, so nothing else changes
        before = {} if settled else self.matches()
        self.events.setdefault(key, event)
        after = self.matches()
        own = [internal.matched(run, event, match) for (k, run), match in sorted(after.items()) if k == key]
        return own if settled else own + self._changed(before, after, except_for=key)

    def bind(self, binding: Binding) -> list[Output]:
        """A run's newest document: each event that it newly matches, and each that it makes ambiguous or clear."""
        own = [binding.run_id]
        settled = set(binding.commits) <= self.known() and all(
            len(self.runs[sha]) > 1 or sha in binding.commits for sha in self.commits.get(binding.run_id, ())
        )
        before = self.matches(own if settled else None)
        self._bind(binding)
        return self._changed(before, self.matches(own if settled else None))

    def _changed(
        self, before: Mapping[Pair, Match], after: Mapping[Pair, Match], except_for: bytes | None = None
    ) -> list[Output]:
        """In the order of the events' offsets. A match that only lost commits is no news: its run knows."""
        changed = [
            (self.events[key].origin.offset, key, run)
            for (key, run), match in after.items()
            if key != except_for and _is_news(before.get((key, run)), match)
        ]
        return [internal.matched(run, self.events[key], after[key, run]) for _, key, run in sorted(changed)]


def _is_news(before: Match | None, now: Match) -> bool:
    return before is None or not now.commits.items() <= before.commits.items()


def _is_one_commit(short: str, known: set[str]) -> bool:
    """Whether those that begin with the shorter "[are] writings of one commit (each a prefix of the next)"."""
    writings = sorted((sha for sha in known if sha.startswith(short)), key=len)
    return all(longer.startswith(sha) for sha, longer in pairwise(writings))


def event_key(event: Event) -> bytes:
    """Names an event in its group: what makes it another event, and nothing else."""
    return b"event " + encode((event.sha, event.file, event.signal))


class CommitsTable:
    """The commit index of one partition: entries by group, each entry a row of the changelog."""

    def __init__(self, max_record_bytes: int) -> None:
        self.max_record_bytes = max_record_bytes
        self.groups: dict[bytes, dict[bytes, bytes]] = {}

    def batch(self) -> "CommitsBatch":
        """A batch on the committed entries."""
        return CommitsBatch(self)

    def update(self, changes: Changes) -> None:
        """Takes in committed entries."""
        for key, entry in changes.items():
            group = self.groups.setdefault(key[:PREFIX], {})
            if entry is not None:
                group[key] = entry
            else:
                group.pop(key, None)
                if not group:
                    del self.groups[key[:PREFIX]]

    def __len__(self) -> int:
        return sum(map(len, self.groups.values()))


class CommitsBatch:
    """Commit events and bindings, not committed yet."""

    def __init__(self, table: CommitsTable) -> None:
        self._table = table
        self._groups: dict[bytes, Group] = {}
        self._changes: dict[bytes, bytes | None] = {}

    def step(self, record: Record) -> list[Output]:
        """A commit event goes to its group; in its group, an entry leads to matches."""
        if record.topic != COMMIT_EVENTS:
            return self._index(record)
        try:
            return [self._read(record)]
        except BadRecord as reason:
            return [dead_letter(reason, internal.origin_of(record), record.key, record.value, record.headers)]

    def changes(self) -> Changes:
        """The entries that came or went."""
        return self._changes

    def _read(self, record: Record) -> Output:
        check_size(record.value, self._table.max_record_bytes)
        sha = decode_sha(record.key)
        file, signal = decode_commit_event(decode_json(record.value))
        origin = Origin(record.topic, record.partition, record.offset, record.timestamp)
        return internal.indexed(Event(sha, file, signal, origin), sha[:PREFIX])

    def _index(self, record: Record) -> list[Output]:
        prefix = record.key or b""
        group = self._groups.get(prefix)
        if group is None:
            group = self._groups[prefix] = Group(self._table.groups.get(prefix, {}))
        entry = internal.entry_in(record)
        if isinstance(entry, Event):
            row = prefix + b" " + event_key(entry)
            if event_key(entry) not in group.events:
                self._changes[row] = record.value
            return group.add(entry)
        row = prefix + b" run " + entry.run_id.encode()
        self._changes[row] = record.value if entry.commits else None
        return group.bind(entry)
