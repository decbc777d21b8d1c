"""What the pipelines need on the broker, and whether it is there.

Law: a worker starts only with topics whose partitions fit together; it makes none itself.
"""

from collections.abc import Iterable, Mapping, Sequence

from aiokafka.errors import for_code

from processor import broker, permissions, record
from processor.engine.exits import Refused
from processor.engine.routes import KEYED, OWN, SPREAD
from processor.metadata import describe
from processor.record import Pipeline
from processor.settings import Settings

APPLY = "Run `acceptance topics apply`"


def changelog(pipeline: str) -> str:
    """The logical name of a pipeline's changelog."""
    return f"{pipeline}-changelog"


def logical_topics(pipelines: Iterable[Pipeline]) -> list[str]:
    """All topics that a worker reads or writes."""
    names: dict[str, None] = {}
    for pipeline in pipelines:
        names |= dict.fromkeys((*pipeline.inputs, changelog(pipeline.name)))
    return list(names | dict.fromkeys((*OWN, *SPREAD, *KEYED)))


async def partition_counts(settings: Settings, pipelines: Sequence[Pipeline], transactions: bool) -> dict[str, int]:
    """The partition count of each topic by its logical name; Refused when one is missing or they do not fit, `Failure`
    when the worker lacks a permission."""
    logical = {settings.topic(name): name for name in logical_topics(pipelines)}
    async with broker.admin(settings) as admin:
        await permissions.require(admin, settings, permissions.worker(settings, transactions))
        described = await describe(admin, list(logical))
    counts = {}
    for topic in described:
        if topic["error_code"]:
            why = for_code(topic["error_code"]).description or for_code(topic["error_code"]).__name__
            raise Refused(f"topic {topic['topic']} is not there ({why}). {APPLY}")
        counts[logical[topic["topic"]]] = len(topic["partitions"])
    if missing := sorted(name for name in logical if logical[name] not in counts):
        raise Refused(f"topics {', '.join(missing)} are not there. {APPLY}")
    check_counts(settings, pipelines, counts)
    return counts


def check_counts(settings: Settings, pipelines: Iterable[Pipeline], counts: Mapping[str, int]) -> None:
    """Refused unless the topics that are keyed alike have equally many partitions."""
    for pipeline in pipelines:
        alike = [*pipeline.inputs, changelog(pipeline.name)]
        if pipeline.inputs[0] == record.RUNS:
            alike += OWN
        if len({counts[topic] for topic in alike}) > 1:
            listed = ", ".join(f"{settings.topic(topic)} has {counts[topic]}" for topic in alike)
            raise Refused(
                f"these topics must have the same number of partitions: {listed}. Make them anew with one number; "
                "partitions that were added later have split the keys"
            )
