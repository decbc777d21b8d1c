"""The commits pipeline: which event is about which run.

"A commit event matches a run when one sha is a prefix of the other; it goes to every run it matches, whether the run is
recorded before or after it." Shas that may be writings of one commit share their first digits, so all that can decide a
match is in one group. A group is two sets, events and what documents name; neither order nor repetition changes it.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from processor import internal
from processor.acceptance import Origin
from processor.dead_letters import dead_letter
from processor.decode import BadRecord, check_size, decode_commit_event, decode_json, decode_sha
from processor.due import Due
from processor.internal import PREFIX, Binding, Event
from processor.record import COMMIT_EVENTS, COMMIT_INDEX, Changes, Output, Record
from processor.retention import Retention
from processor.state import Match, encode

Pair = tuple[bytes, str]  # event key, run id
HOT: Final = 64  # entries from which on a group is kept decoded


class Group:
    """The events and bindings whose shas begin with the same digits."""

    def __init__(self) -> None:
        self.events: dict[bytes, Event] = {}
        self.commits: dict[str, list[str]] = {}  # run id → what its newest document names
        self.runs: dict[str, set[str]] = {}  # sha → runs that name it

    def copy(self) -> "Group":
        """Another one, with the same in it."""
        other = Group()
        other.events, other.commits = dict(self.events), dict(self.commits)
        other.runs = {sha: set(runs) for sha, runs in self.runs.items()}
        return other

    def take(self, entry: Event | Binding) -> None:
        """Puts an entry in, and says nothing."""
        if isinstance(entry, Event):
            self.events[event_key(entry)] = entry
            return
        for sha in self.commits.pop(entry.run_id, ()):
            self.runs[sha].discard(entry.run_id)
            if not self.runs[sha]:
                del self.runs[sha]
        if entry.commits:
            self.commits[entry.run_id] = entry.commits
        for sha in entry.commits:
            self.runs.setdefault(sha, set()).add(entry.run_id)

    def known(self) -> set[str]:
        """All shas: "from newest documents and kept commit events"."""
        return {*self.runs, *(event.sha for event in self.events.values())}

    def matches(self, events: Iterable[bytes], runs: Iterable[str] | None = None) -> dict[Pair, Match]:
        """Each of these events with each run that it may be about; of all runs, or of these."""
        known = self.known()
        is_one: dict[str, bool] = {}
        found: dict[Pair, Match] = {}
        for key in events:
            event = self.events[key]
            clear: dict[str, bool] = {}  # of the shas that may be the event's
            for sha in self.runs:
                if sha.startswith(event.sha) or event.sha.startswith(sha):
                    short = min(sha, event.sha, key=len)
                    if short not in is_one:
                        is_one[short] = _is_one_commit(short, known)
                    clear[sha] = is_one[short]
            for run_id in {run for sha in clear for run in self.runs[sha]} if runs is None else runs:
                commits = {sha: clear[sha] for sha in self.commits.get(run_id, ()) if sha in clear}
                if commits:
                    found[key, run_id] = Match(event.sha, event.file, event.signal, commits)
        return found

    def add(self, event: Event) -> list[Output]:
        """A commit event: to the runs it may be about, then each older one that it makes ambiguous. Of events that are
        one, the first one's coordinates stay."""
        key, before, known = event_key(event), self.copy(), self.known()
        first = self.events.get(key)
        self.take(event if first is None else replace(first, since=event.since))
        own = [internal.matched(run, event, match) for (_, run), match in sorted(self.matches([key]).items())]
        if not _may_differ(known, known | {event.sha}):
            return own
        others = self.events.keys() - {key}
        return own + self._changed(before.matches(before.events.keys() - {key}), self.matches(others))

    def bind(self, binding: Binding) -> list[Output]:
        """A run's newest document: each event that it newly matches, and each that it makes ambiguous or clear."""
        before, known = self.copy(), self.known()
        self.take(binding)
        runs = None if _may_differ(known, self.known()) else [binding.run_id]
        return self._changed(before.matches(before.events, runs), self.matches(self.events, runs))

    def drop(self, gone: Iterable[bytes]) -> list[Output]:
        """Events that nobody names: each other one that it makes clear."""
        before = self.copy()
        for key in gone:
            del self.events[key]
        return self._changed(before.matches(self.events), self.matches(self.events))

    def _changed(self, before: Mapping[Pair, Match], after: Mapping[Pair, Match]) -> list[Output]:
        """In the order of the events' offsets. A match that only lost commits is no news: its run knows."""
        changed = [
            (self.events[key].origin.offset, key, run)
            for (key, run), match in after.items()
            if _is_news(before.get((key, run)), match)
        ]
        return [internal.matched(run, self.events[key], after[key, run]) for _, key, run in sorted(changed)]


def _is_news(before: Match | None, now: Match) -> bool:
    return before is None or not now.commits.items() <= before.commits.items()


def _may_differ(before: set[str], after: set[str]) -> bool:
    """Whether it is told otherwise of some sha, known before and after, that it identifies a commit."""
    changed = before ^ after
    shorter = [sha for sha in before & after if any(other.startswith(sha) for other in changed)]
    return any(_is_one_commit(sha, before) != _is_one_commit(sha, after) for sha in shorter)


def _is_one_commit(short: str, known: set[str]) -> bool:
    """Whether those that begin with the shorter "[are] writings of one commit (each a prefix of the next)"."""
    writings = sorted((sha for sha in known if sha.startswith(short)), key=len)
    return all(longer.startswith(sha) for sha, longer in pairwise(writings))


def event_key(event: Event) -> bytes:
    """Names an event in its group: what makes it another event, and nothing else."""
    return b"event " + encode((event.sha, event.file, event.signal))


class CommitsTable:
    """The commit index of one partition: entries by group, each entry a row of the changelog."""

    def __init__(self, max_record_bytes: int, retention: Retention) -> None:
        self.max_record_bytes = max_record_bytes
        self.retention = retention
        self.groups: dict[bytes, dict[bytes, bytes]] = {}
        self._hot: dict[bytes, Group] = {}  # large groups as they were decoded last
        self._due = Due(self._due_of)

    def batch(self) -> "CommitsBatch":
        """A batch on the committed entries."""
        return CommitsBatch(self)

    def open(self, prefix: bytes) -> Group:
        """The group as it is committed, to be worked on."""
        if prefix in self._hot:
            return self._hot[prefix].copy()
        entries = self.groups.get(prefix, {})
        group = Group()
        for raw in entries.values():
            group.take(internal.decode_entry(raw))
        if len(entries) >= HOT:
            self._hot[prefix] = group.copy()
        return group

    def update(self, changes: Changes) -> None:
        """Takes in committed entries."""
        self._due.changed.update(changes)
        for key, entry in changes.items():
            prefix = key[:PREFIX]
            group = self.groups.setdefault(prefix, {})
            if entry is not None:
                group[key] = entry
                if prefix in self._hot:
                    self._hot[prefix].take(internal.decode_entry(entry))
            else:
                self._hot.pop(prefix, None)
                group.pop(key, None)
                if not group:
                    del self.groups[prefix]

    def ticks(self, now: int, most: int) -> list[Output]:
        """Ticks for groups with events that may go at `now` (seconds since 1970); at most so many."""
        return [internal.tick(COMMIT_INDEX, key[:PREFIX], now) for key in self._due.take(now, most)]

    def _due_of(self, key: bytes) -> int | None:
        stored = self.groups.get(key[:PREFIX], {}).get(key)
        entry = None if stored is None else internal.decode_entry(stored)
        return self.retention.event_due(entry) if isinstance(entry, Event) else None

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
        check_size(record.value, record.headers, self._table.max_record_bytes)
        sha = decode_sha(record.key)
        file, signal = decode_commit_event(decode_json(record.value))
        origin = Origin(record.topic, record.partition, record.offset, record.timestamp)
        return internal.indexed(Event(sha, file, signal, origin), sha[:PREFIX])

    def _index(self, record: Record) -> list[Output]:
        prefix = record.key or b""
        group = self._groups.get(prefix)
        if group is None:
            group = self._groups[prefix] = self._table.open(prefix)
        if (now := internal.tick_in(record)) is not None:
            return self._tick(prefix, group, now)
        entry = internal.entry_in(record)
        if isinstance(entry, Event):
            outputs = group.add(entry)
            self._keep(prefix, group.events[event_key(entry)])
            return outputs
        row = prefix + b" run " + entry.run_id.encode()
        self._changes[row] = record.value if entry.commits else None
        return group.bind(entry)

    def _tick(self, prefix: bytes, group: Group, now: int) -> list[Output]:
        """Events that were kept for long enough go, but for those whose commit a run names."""
        old = {key for key, event in group.events.items() if self._table.retention.is_old(event, now)}
        needed = {key for key, _ in group.matches(old)}
        for key in needed:
            group.events[key] = replace(group.events[key], since=now)
            self._keep(prefix, group.events[key])
        gone = old - needed
        self._changes |= {prefix + b" " + key: None for key in gone}
        return group.drop(gone) if gone else []

    def _keep(self, prefix: bytes, event: Event) -> None:
        self._changes[prefix + b" " + event_key(event)] = encode(event)
