"""What happens at an assignment: fence the previous owner, restore, take the positions out of the state, or refuse.

Law: a partition is served only from the whole state and from the positions that this state was made up to.
"""

import asyncio
import gc
import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError

from processor.engine import positions as positions_row
from processor.engine.exits import Refused
from processor.engine.intake import Intake
from processor.engine.partition import Kept, Limits, Partition
from processor.engine.positions import Positions
from processor.engine.publish import Publisher, open_plain_publisher, open_publisher
from processor.engine.restore import Reader, reader
from processor.engine.routes import belonging, routes
from processor.engine.topology import changelog
from processor.record import Pipeline, Table
from processor.settings import Settings

log = logging.getLogger(__name__)

FENCE_SECONDS = 30
KEPT_SECONDS = 600  # rows of a partition that did not come back; long before its tombstones are compacted away
ANEW = "begin anew with another APPLICATION_ID"


@dataclass(slots=True)
class Place:
    """One pipeline's partition number on its way to a `Partition`."""

    pipeline: Pipeline
    number: int
    changelog: TopicPartition
    inputs: tuple[TopicPartition, ...]
    table: Table
    positions: Positions | None = None  # None: no state yet
    start: int | None = None  # where the changelog is to be read on; None: at its beginning

    @property
    def name(self) -> str:
        """For people and transactional ids."""
        return f"{self.pipeline.name}-{self.number}"


@dataclass(slots=True)
class Placing:
    """Makes partitions out of assignments."""

    settings: Settings
    pipelines: Sequence[Pipeline]
    counts_of: Mapping[str, int]  # logical topic → partition count
    intake: Intake
    transactions: bool
    counts: Mapping[str, Counter[str]]  # by pipeline, for the log
    kept: dict[str, Kept] = field(default_factory=dict)  # by name
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def place(self, assignment: Iterable[TopicPartition]) -> list[Partition]:
        """The partitions of this assignment, restored and at their positions. Refused when they must not be served;
        IllegalStateError when the next rebalance came first."""
        async with self.turn:  # a placing that a rebalance cancelled may still be unwinding
            began, epoch = time.monotonic(), self.intake.epoch
            self.kept = {name: kept for name, kept in self.kept.items() if began - kept.since < KEPT_SECONDS}
            places = self.places(set(assignment))
            if not places:
                return []
            publishers: dict[str, Publisher] = {}
            try:
                await self.fence(places, publishers)
                async with reader(self.settings, self.transactions) as source:
                    ends, read = await self.restore(source, places)
                    starts = await self.start_positions(source, places)
                if epoch != self.intake.epoch:
                    raise IllegalStateError("rebalanced while placing")
            except BaseException:
                await asyncio.gather(*(publisher.close() for publisher in publishers.values()), return_exceptions=True)
                raise
            kept = sum(self.kept.pop(place.name, None) is not None for place in places)
            partitions = [
                self.partition(place, epoch, starts, ends[place.changelog], publishers[place.name]) for place in places
            ]
            gc.collect()
            gc.freeze()  # rows live long: nothing for the collector to walk
            self.say_placed(places, read, kept, time.monotonic() - began)
            return partitions

    def places(self, assignment: set[TopicPartition]) -> list[Place]:
        """The places of an assignment; Refused when the inputs and changelog of a pipeline were not given alike."""
        places = []
        for pipeline in self.pipelines:
            topics = [self.settings.topic(topic) for topic in (*pipeline.inputs, changelog(pipeline.name))]
            given = {topic: {tp.partition for tp in assignment if tp.topic == topic} for topic in topics}
            numbers = given[topics[0]]
            if any(other != numbers for other in given.values()):
                listed = ", ".join(f"{topic} {sorted(numbers)}" for topic, numbers in given.items())
                raise Refused(
                    f"this worker was not given the same partitions of each topic: {listed}. Stop the workers that run "
                    "another version, and compare the topics with `acceptance topics check`"
                )
            places += [self.new_place(pipeline, number, topics) for number in sorted(numbers)]
        return places

    def new_place(self, pipeline: Pipeline, number: int, topics: list[str]) -> Place:
        """A place with an empty table, or with what was kept of it."""
        *inputs, log_topic = (TopicPartition(topic, number) for topic in topics)
        kept = self.kept.get(f"{pipeline.name}-{number}")
        if kept is not None:
            return Place(pipeline, number, log_topic, tuple(inputs), kept.table, kept.positions, kept.end)
        table = pipeline.table(belonging(number, self.counts_of[pipeline.inputs[0]]))
        return Place(pipeline, number, log_topic, tuple(inputs), table)

    async def fence(self, places: Sequence[Place], publishers: dict[str, Publisher]) -> None:
        """Open a publisher for each place; whoever had the place before cannot write any more."""

        async def open_one(place: Place) -> None:
            publishers[place.name] = (
                await open_publisher(self.settings, place.name, place.changelog)
                if self.transactions
                else await open_plain_publisher(self.settings, place.changelog)
            )

        async with asyncio.timeout(FENCE_SECONDS):
            await asyncio.gather(*map(open_one, places))

    async def restore(self, source: Reader, places: Sequence[Place]) -> tuple[dict[TopicPartition, int], int]:
        """Bring each place's table and positions to the end of its changelog."""
        bounds = await source.bounds(place.changelog for place in places)
        start = {}
        for place in places:
            first, end = bounds[place.changelog]
            if first:  # compaction leaves the first offset where it was
                raise Refused(
                    f"{place.changelog.topic}-{place.number} begins at offset {first}: rows were deleted from it, by "
                    f"hand or by a cleanup.policy other than compact. Bring them back, or {ANEW}"
                )
            if place.start is not None and not first <= place.start <= end:
                place.table = place.pipeline.table(belonging(place.number, self.counts_of[place.pipeline.inputs[0]]))
                place.positions = place.start = None
            start[place.changelog] = first if place.start is None else place.start
        tables = {place.changelog: place.table for place in places}
        ends, rows, read = await source.restore(tables, start, positions_row.KEY)
        for place in places:
            if (row := rows.get(place.changelog)) is not None:
                place.positions = positions_row.decode(row, f"{place.changelog.topic}-{place.number}")
        return ends, read

    async def start_positions(self, source: Reader, places: Sequence[Place]) -> dict[TopicPartition, int]:
        """Where each input is read on: the state's positions, or without state the topic's first offset."""
        bounds = await source.bounds(tp for place in places for tp in place.inputs)
        read = await source.group_offsets(bounds) if self.transactions else {}
        starts: dict[TopicPartition, int] = {}
        for place in places:
            if place.positions is None:
                self.check_fresh(place, read)
                starts |= {tp: bounds[tp][0] for tp in place.inputs}
                continue
            if place.positions.keys() != {tp.topic for tp in place.inputs}:
                raise Refused(
                    f"the state in {place.changelog.topic} was made from {sorted(place.positions)}, the settings say "
                    f"{sorted(tp.topic for tp in place.inputs)}. Name the same topics, or {ANEW}"
                )
            for tp in place.inputs:
                at, (first, end) = place.positions[tp.topic], bounds[tp]
                if at < first or (at > end and self.transactions):
                    raise Refused(
                        f"the state was made up to offset {at} of {tp.topic}-{tp.partition}, which now holds {first} "
                        f"to {end}: records expired before they were read, or the topic was made anew. To go on, {ANEW}"
                    )
                if read.get(tp, 0) > at:
                    raise Refused(
                        f"the group {self.settings.application_id} has read {tp.topic}-{tp.partition} up to "
                        f"{read[tp]}, the state in {place.changelog.topic} only up to {at}: the changelog lost its end "
                        "(an unclean election?), or somebody moved the group's offsets. Bring it back; after a moved "
                        "offset delete the group's offsets (kafka-consumer-groups --delete-offsets); or " + ANEW
                    )
                starts[tp] = at
        return starts

    def check_fresh(self, place: Place, read: Mapping[TopicPartition, int]) -> None:
        """Refused when a place without positions had some once; `read`: what the group has committed."""
        where = f"{place.changelog.topic}-{place.number}"
        if len(place.table):
            raise Refused(f"{where} has rows and no positions: another program wrote them. Remove it, or {ANEW}")
        for tp in place.inputs:
            if tp in read:
                raise Refused(
                    f"the group {self.settings.application_id} has read {tp.topic}-{tp.partition}, but {where} is "
                    f"empty: the changelog was lost. Bring it back, or {ANEW}"
                )

    def partition(
        self, place: Place, epoch: int, starts: Mapping[TopicPartition, int], end: int, publisher: Publisher
    ) -> Partition:
        """The place, ready to be served."""
        return Partition(
            name=place.name,
            number=place.number,
            epoch=epoch,
            intake=self.intake,
            logical={self.settings.topic(topic): topic for topic in place.pipeline.inputs},
            table=place.table,
            positions={tp.topic: starts[tp] for tp in place.inputs},
            end=end,
            publisher=publisher,
            routes=routes(self.settings, self.counts_of, place.number),
            limits=Limits(
                self.settings.batch_max_records, self.settings.batch_max_bytes, self.settings.stop_on_bad_input
            ),
            counts=self.counts[place.pipeline.name],
        )

    def say_placed(self, places: Sequence[Place], read: int, kept: int, seconds: float) -> None:
        """One line for the operator."""
        listed = ", ".join(place.name for place in places)
        rows = sum(len(place.table) for place in places)
        how = f"{rows} rows, {read} changelog records read, {kept} partitions kept, {seconds:.1f} s"
        log.info("serving %s: %s", listed, how)
