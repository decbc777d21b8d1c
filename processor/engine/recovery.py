"""Placing in the place of Faust's table recovery, which replays record by record and ends quietly on a time-out.

Law: records flow only after every partition was placed and sought; what fails on the way ends the process.
"""
# Faust publishes no other way; each private name used here has a test in tests/e2e/test_seams.py.

import os

from aiokafka.errors import IllegalStateError
from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from mode import Service

from processor.engine.assignment import Assignment
from processor.engine.exits import FAUST_LOG, die, die_of


class PlacingRecovery(Recovery):  # type: ignore[misc] # Faust has no types here
    """Faust starts it after each rebalance."""

    logger = FAUST_LOG

    assignment: Assignment  # set by `PlacingTables`

    @Service.task  # type: ignore[untyped-decorator]
    async def _restart_recovery(self) -> None:
        while not self.should_stop:
            if await self.wait_for_stopped(self.signal_recovery_start):
                break
            self.signal_recovery_start.clear()
            generation, consumer, epoch = self._generation_id, self.app.consumer, self.assignment.intake.epoch
            try:
                await self._wait(self.assignment.place(consumer.assignment()))
                await self.on_recovery_completed(generation)  # Consumer.seek_to_committed, then lets records flow
            except (RebalanceAgain, IllegalStateError):
                continue  # the next one is on its way
            except ServiceStopped:
                break
            except Exception as error:  # noqa: BLE001 - a recovery that ends leaves a worker that does nothing
                die_of(error, "taking over partitions")
            # what ended meanwhile, because the next rebalance came or we leave, has no positions to seek
            settled = epoch == self.assignment.intake.epoch and generation == self.app.consumer_generation_id
            if settled and not self.app.rebalancing and not consumer.is_placed():
                die("the positions could not be sought in time", os.EX_TEMPFAIL)


class PlacingTables(TableManager):  # type: ignore[misc] # Faust has no types here
    """Faust's tables, restored by `assignment`."""

    logger = FAUST_LOG

    assignment: Assignment  # set by a subclass, since Faust makes the object
    _recovery: PlacingRecovery | None = None

    @property
    def recovery(self) -> PlacingRecovery:
        """Made once; Faust asks for it often."""
        if self._recovery is None:
            recovery = PlacingRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
            recovery.assignment = self.assignment
            self._recovery = recovery
        return self._recovery
