"""The promises I1 to I6, checked from outside. No code of `processor` and not its client: a second opinion.

    I1  each run's last acceptance is what a naive reading of its valid inputs says
    I2  changes: seq 1..n without gap, from(k+1) = to(k), ids as the contract has them; alerts are flips of `reversed`
    I3  each input accounted for by its coordinates: applied once, dead-lettered, or kept for runs to come
    I4  positions never pass an input whose outputs cannot be read
    I5  no amnesia: versions and positions never go back, no run begins again, none is on two partitions
    I6  no lag within a limit after the last fault, no hanging transaction

I7, that the fault really hit, is the harness's to say. A violation is a sentence that begins with its promise.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.broker import ends
from tests.faults.logs import Entry, Logs, group_offsets, header
from tests.faults.naive import At, Naive
from tests.oracle.compare import value_differences
from tests.oracle.showing import acceptance

INPUTS = ("runs", "signals", "commit-events")
OUTPUTS = ("acceptance", "acceptance-changed", "acceptance-reversed", "acceptance-dead-letters")
INTERNAL = ("run-inputs", "commit-index")
CHANGELOGS = ("runs-changelog", "commits-changelog")
MARKER_SECONDS = 5  # for a committed transaction to be readable on every partition
POSITIONS = b"\xffpositions"


@dataclass
class Said:
    """What the outputs say, walked through once in their order."""

    causes: Counter[tuple[str, At]] = field(default_factory=Counter)  # run and input → how often applied
    letters: Counter[tuple[At, str | None]] = field(default_factory=Counter)
    last: dict[str, Any] = field(default_factory=dict)  # run → its last acceptance
    nulls: Counter[str] = field(default_factory=Counter)
    flips: dict[str, list[tuple[int, str, str, bool]]] = field(default_factory=lambda: defaultdict(list))


def coordinates(given: Any) -> Iterator[At]:
    """The coordinates of an input, wherever they stand in the JSON of an internal record."""
    if isinstance(given, dict):
        if given.get("topic") in INPUTS and {"partition", "offset"} <= given.keys():
            yield given["topic"], given["partition"], given["offset"]
        for inner in given.values():
            yield from coordinates(inner)
    elif isinstance(given, list):
        if len(given) >= 3 and given[0] in INPUTS and isinstance(given[1], int) and isinstance(given[2], int):
            yield given[0], given[1], given[2]
        for inner in given:
            yield from coordinates(inner)


@dataclass
class Verifier:
    """Of one application."""

    servers: str
    application_id: str
    prefix: str
    logs: Logs = field(init=False)
    known: set[At] = field(default_factory=set)  # inputs of which something can be read
    applied: set[At] = field(default_factory=set)
    pending: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))  # inputs of which nothing can
    taken: Counter[str] = field(default_factory=Counter)  # records of a topic that were looked at
    settling: bool = False  # whether the windows that have closed are to be settled

    def __post_init__(self) -> None:
        self.logs = Logs(self.servers)

    def name(self, logical: str) -> str:
        public = logical in INPUTS or logical in OUTPUTS
        return f"{self.prefix}{logical}" if public else f"{self.application_id}-{logical}"

    def read(self, *logical: str) -> None:
        self.logs.read(map(self.name, logical))

    def of(self, logical: str) -> list[Entry]:
        return self.logs.records[self.name(logical)]

    # --- while workers run -----------------------------------------------------------------------

    def look(self) -> list[str]:
        """I4 now. Positions are read first, then what they account for, then the inputs: each can only be ahead of what
        was read before it; but for the end of a transaction, which comes to each partition in its own time."""
        offsets = group_offsets(self.servers, self.application_id, map(self.name, (*INPUTS, *INTERNAL)))
        self.read(*CHANGELOGS)
        passed = self.positions()
        limit = time.monotonic() + MARKER_SECONDS
        while True:
            self.read(*OUTPUTS, *INTERNAL)
            self.read(*INPUTS)
            self.take_in()
            found = self.positions_violations(passed, "the state") + self.positions_violations(offsets, "the group")
            if not found or time.monotonic() > limit:
                return found

    def positions(self) -> dict[tuple[str, int], int]:
        """The last positions in the changelogs."""
        found: dict[tuple[str, int], int] = {}
        for log in CHANGELOGS:
            for entry in self.of(log):
                if entry.key == POSITIONS and entry.value is not None:
                    at = json.loads(entry.value)["positions"]
                    found |= {(topic, entry.partition): offset for topic, offset in at.items()}
        return found

    def positions_violations(self, positions: dict[tuple[str, int], int], whose: str) -> list[str]:
        """I4: each input below its position can be found in what was written."""
        found = []
        for topic in (*INPUTS, "run-inputs"):
            for entry in self.pending[topic]:
                if entry.offset < positions.get((self.name(topic), entry.partition), 0):
                    where = f"{topic}-{entry.partition}@{entry.offset}"
                    found.append(f"I4: {whose} passed {where}, and nothing that came of it can be read")
        return found

    def take_in(self) -> None:
        """What was read since the last time: which inputs are accounted for, and which wait to be."""
        for topic in ("acceptance", "run-inputs", "commit-index"):
            for entry in self.new(topic):
                told = entry.headers[0][1] if topic == "run-inputs" else entry.value
                at = set(coordinates(json.loads(told or b"null")))
                self.known |= at
                if topic == "acceptance":
                    self.applied |= at
                elif topic == "run-inputs" and told is not None:  # else time, which is no input of anybody's
                    self.pending[topic].append(entry)
        lettered = {at for at, _ in self.letters()}
        self.known |= lettered
        for topic in INPUTS:
            # a null document is accounted for by a null, which names no cause: they are counted at the end
            self.pending[topic] += [entry for entry in self.new(topic) if entry.value is not None or topic != "runs"]
            self.pending[topic] = [
                entry for entry in self.pending[topic] if (topic, entry.partition, entry.offset) not in self.known
            ]
        told_of = self.applied | lettered
        self.pending["run-inputs"] = [
            entry
            for entry in self.pending["run-inputs"]
            if entry.value is not None and not set(coordinates(json.loads(entry.headers[0][1] or b"null"))) & told_of
        ]

    def new(self, logical: str) -> list[Entry]:
        """The records of a topic that were not taken in yet."""
        records = self.of(logical)
        first, self.taken[logical] = self.taken[logical], len(records)
        return records[first:]

    def letters(self) -> Counter[tuple[At, str | None]]:
        found: Counter[tuple[At, str | None]] = Counter()
        for entry in self.of("acceptance-dead-letters"):
            topic, partition, offset = (
                header(entry, f"__streams.errors.{part}") or "?" for part in ("topic", "partition", "offset")
            )
            found[(topic, int(partition), int(offset)), header(entry, "ocp.errors.path")] += 1
        return found

    # --- at the end ------------------------------------------------------------------------------

    def verify(self) -> list[str]:
        """All of it, once every input was worked off."""
        found = self.hanging()
        found += self.look()
        said = Said(letters=self.letters())
        found += self.walk_acceptances(said)
        found += self.walk_changes(said)
        naive = self.naive()
        found += self.last_violations(naive, said)
        found += self.input_violations(naive, said)
        return found + self.back_violations()

    def ticks(self) -> int:
        """How often time came as a record."""
        self.read("run-inputs")
        return sum(entry.headers[0][1] is None for entry in self.of("run-inputs"))

    def has_settled(self) -> bool:
        """Whether every run whose window has an end says that it is settled."""
        self.read("acceptance")
        last = {entry.key: json.loads(entry.value or b"null") for entry in self.of("acceptance")}
        return all(answer["settled"] or answer["window_closes_at"] is None for answer in last.values() if answer)

    def heaviest(self, logical: str) -> int:
        """Bytes of a topic's largest value."""
        return max((len(entry.value or b"") for entry in self.of(logical)), default=0)

    def inputs(self) -> int:
        """How many inputs were committed."""
        return sum(len(self.of(topic)) for topic in INPUTS)

    def naive(self) -> Naive:
        """What a naive reader makes of the inputs."""
        naive = Naive()
        for topic in INPUTS:
            for entry in sorted(self.of(topic), key=lambda e: (e.partition, e.offset)):
                naive.feed(topic, entry)
        return naive.finish()

    def hanging(self) -> list[str]:
        """I6: no transaction is open."""
        topics = [self.name(topic) for topic in (*INPUTS, *OUTPUTS, *INTERNAL, *CHANGELOGS)]
        written, committed = (ends(self.servers, topics, committed) for committed in (False, True))
        late = {tp for tp in written if written[tp] > committed[tp]}
        return [f"I6: a transaction hangs in {topic}-{number}" for topic, number in sorted(late)]

    def walk_acceptances(self, said: Said) -> list[str]:
        """I5, I2: versions are a chain on one partition. Remembers which changes they call for."""
        found: list[str] = []
        version: Counter[str] = Counter()
        home: dict[str, int] = {}
        shown: dict[str, tuple[str, bool]] = defaultdict(lambda: ("unknown", False))
        for entry in self.of("acceptance"):
            run = (entry.key or b"").decode()
            value = None if entry.value is None else json.loads(entry.value)
            number = int((header(entry, "ce_id") or "/v0").rpartition("/v")[2])
            if home.setdefault(run, entry.partition) != entry.partition:
                found.append(f"I5: {run} is on partitions {home[run]} and {entry.partition}")
            if number != version[run] + 1 or (value is not None and value["version"] != number):
                found.append(f"I5: version {number} of {run} comes after {version[run]}")
            version[run], said.last[run] = number, value
            now = ("unknown", False) if value is None else (value["status"], value["reversed"])
            if now != shown[run]:
                said.flips[run].append((number, shown[run][0], now[0], now[1]))
                shown[run] = now
            if value is None:
                said.nulls[run] += 1
            else:
                cause = value["cause"]
                said.causes[run, (cause["topic"], cause["partition"], cause["offset"])] += 1
        return found

    def walk_changes(self, said: Said) -> list[str]:
        """I2: the changes are those that the acceptances call for, and the alerts are their flips of `reversed`."""
        found: list[str] = []
        seq: Counter[str] = Counter()
        to: dict[str, str] = {}
        turned: dict[str, bool] = {}
        flips: list[str] = []
        settled: set[str] = set()  # no document of the load moves a window, so for good
        ids: Counter[str] = Counter()
        announced: dict[str, list[tuple[int, str, str, bool]]] = defaultdict(list)
        for entry in self.of("acceptance-changed"):
            value = json.loads(entry.value or b"null")
            run, cause = value["run_id"], value["cause"]
            at = f"{cause['topic']}-{cause['partition']}-{cause['offset']}"
            ids[value["id"]] += 1
            if value["seq"] != seq[run] + 1:
                found.append(f"I2: change {value['seq']} of {run} comes after {seq[run]}")
            if value["from"] != to.get(run, "unknown"):
                found.append(f"I2: {value['id']} is from {value['from']}, the one before it to {to.get(run)}")
            if value["id"] != f"{run}/{value['seq']}/{at}":
                found.append(f"I2: the id {value['id']} is not {run}/{value['seq']}/{at}")
            if value["reversed"] != turned.get(run, False):
                flips.append(value["id"])
            if value["transition"] == "settled" and run in settled:
                found.append(f"I2: {value['id']} settles {run} again")
            if value["transition"] == "settled":
                settled.add(run)
            else:
                announced[run].append((value["version"], value["from"], value["to"], value["reversed"]))
            seq[run], to[run], turned[run] = value["seq"], value["to"], value["reversed"]
        found += [f"I2: {id_} was announced {n} times" for id_, n in ids.items() if n > 1]
        for run in said.flips.keys() | announced.keys():
            if said.flips[run] != announced[run]:
                found.append(f"I2: the acceptances of {run} call for {said.flips[run]}, announced is {announced[run]}")
        alerts = Counter(json.loads(entry.value or b"null")["id"] for entry in self.of("acceptance-reversed"))
        for id_ in sorted(alerts.keys() | set(flips)):
            if alerts[id_] != flips.count(id_):
                found.append(f"I2: {id_} turns `reversed` {flips.count(id_)} times and is {alerts[id_]} times an alert")
        return found

    def last_violations(self, naive: Naive, said: Said) -> list[str]:
        """I1."""
        found = []
        for run_id, run in naive.runs.items():
            if run_id not in said.last:
                found.append(f"I1: {run_id} has inputs and no acceptance")
                continue
            last = said.last[run_id]
            if (last is None) != (run_id in naive.forgotten):
                found.append(f"I1: the last acceptance of {run_id} is {last!r:.80}")
            elif last is not None:
                expected = acceptance(run_id, run)
                if self.settling and expected["window_closes_at"] is not None:
                    expected["settled"] = True  # the load is of 2023
                if wrong := value_differences("", expected, last):
                    found.append(f"I1: {run_id}: {'; '.join(wrong)}")
        return found + [f"I1: {run} has an acceptance and no input" for run in said.last.keys() - naive.runs.keys()]

    def input_violations(self, naive: Naive, said: Said) -> list[str]:
        """I3."""
        found = []
        times: Counter[At] = Counter()
        for (run, at), n in said.causes.items():
            times[at] += n
            if at[0] == "run-inputs":
                continue
            if at[0] != "commit-events" and naive.applied.get(at) != run:
                found.append(f"I3: {run} says it was told by {show(at)}, which was never committed or is about another")
            if n > 1:
                found.append(f"I3: {show(at)} was applied {n} times to {run}")
        found += [f"I3: {show(at)} was not applied" for at in naive.applied if not times[at]]
        for run, n in naive.forgets.items():
            if said.nulls[run] != n:
                found.append(f"I3: {run} was forgotten {n} times, and {said.nulls[run]} times it says so")
        wanted = {(at, None) for at in naive.refused} | naive.parts
        for letter in sorted(wanted | said.letters.keys(), key=repr):
            if said.letters[letter] != (letter in wanted):
                found.append(f"I3: {show(letter[0])} {letter[1] or ''} is {said.letters[letter]} times a dead letter")
        return found + self.event_violations(naive, said)

    def event_violations(self, naive: Naive, said: Said) -> list[str]:
        """I3 for commit events: each is kept, and each run that it matches was told of it."""
        found = []
        kept = {at for entry in self.of("commit-index") for at in coordinates(json.loads(entry.value or b"null"))}
        committed = {at for where in naive.events.values() for at in where}
        causes = {at for _, at in said.causes if at[0] == "commit-events"}
        found += [f"I3: {show(at)} was never committed, and was applied" for at in sorted(causes - committed)]
        for where in naive.events.values():
            found += [f"I3: {show(at)} was not kept" for at in where if at not in kept]
        for run_id, run in naive.runs.items():
            for event in run.told:
                if not any(said.causes[run_id, at] for at in naive.events[event]):
                    found.append(f"I3: {run_id} was not told of {show(naive.events[event][0])}")
        return found

    def back_violations(self) -> list[str]:
        """I5: no position in the changelogs is smaller than the one before it."""
        found = []
        for log in CHANGELOGS:
            before: dict[tuple[str, int], int] = {}
            for entry in self.of(log):
                if entry.key != POSITIONS or entry.value is None:
                    continue
                for topic, offset in json.loads(entry.value)["positions"].items():
                    if offset < before.get((topic, entry.partition), 0):
                        found.append(f"I5: the position of {topic}-{entry.partition} goes back to {offset}")
                    before[topic, entry.partition] = offset
        return found


def show(at: At) -> str:
    """Coordinates, for people."""
    topic, partition, offset = at
    return f"{topic}-{partition}@{offset}"


def promises(violations: list[str]) -> list[str]:
    """Which promises were broken."""
    return sorted({sentence.partition(":")[0] for sentence in violations})
