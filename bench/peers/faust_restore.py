"""Plain Faust, restoring its table from a changelog; it ends when it is done, and prints its rows and its peak KiB.

    python -m bench.peers.faust_restore SERVERS GROUP INPUT PARTITIONS

The rows stay bytes: Faust decodes none, so what is measured is its recovery alone.
"""

import os
import resource
import sys

import faust


def main() -> None:
    servers, group, given, partitions = sys.argv[1:]
    app = faust.App(
        group,
        broker=f"kafka://{servers}",
        store="memory://",
        web_enabled=False,
        topic_disable_leader=True,
        topic_allow_declare=False,
        broker_session_timeout=6,
        broker_heartbeat_interval=1,
        broker_rebalance_timeout=10,
        stream_wait_empty=False,
    )
    topic = app.topic(given, key_serializer="raw", value_serializer="raw", partitions=int(partitions))
    table = app.Table(
        "runs",
        partitions=int(partitions),
        key_type=bytes,
        value_type=bytes,
        recovery_buffer_size=10_000,  # its default of 1,000 is slower
    )

    @app.agent(topic)
    async def read(stream: faust.StreamT) -> None:  # type: ignore[type-arg]
        async for _ in stream:
            pass

    @table.on_recover
    async def recovered() -> None:
        print(len(table), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
        os._exit(0)

    worker = faust.Worker(app, loglevel="ERROR", quiet=True, redirect_stdouts=False)
    worker.spinner = None
    worker.execute_from_commandline()


if __name__ == "__main__":
    main()
