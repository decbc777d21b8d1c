"""The two pipelines, made from the settings."""

from processor.acceptance import Publisher
from processor.commits import CommitsTable
from processor.limits import Limits
from processor.record import COMMIT_EVENTS, COMMIT_INDEX, RUN_INPUTS, RUNS, SIGNALS, Belongs, Pipeline, Table
from processor.retention import A_DAY, Retention
from processor.runs import RunsTable
from processor.settings import Settings


def pipelines(settings: Settings) -> tuple[Pipeline, Pipeline]:
    """`runs` folds what is known of runs; `commits` finds which event is about which run."""
    limits = Limits(settings.max_signals_per_run, settings.max_row_bytes)
    retention = Retention(settings.state_retention_days * A_DAY, settings.commit_retention_days * A_DAY)
    publisher = Publisher(f"/ocp-acceptance/{settings.application_id}")

    def runs_table(belongs: Belongs) -> Table:
        return RunsTable(limits, settings.max_record_bytes, retention, publisher, belongs)

    def commits_table(belongs: Belongs) -> Table:
        del belongs  # a commit event is always sent on to its group
        return CommitsTable(settings.max_record_bytes, retention)

    return (
        Pipeline("runs", (RUNS, SIGNALS, RUN_INPUTS), runs_table),
        Pipeline("commits", (COMMIT_EVENTS, COMMIT_INDEX), commits_table),
    )
