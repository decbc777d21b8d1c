"""Between the workers and a broker: passes on what comes, or cuts, resets, delays or holds back.

Law: it never makes up, drops or reorders a byte of a connection that goes on.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

PIECE = 65_536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: closing sends RST


@dataclass
class Proxy:
    """Listens on `port` of this machine, connects to `target`; in a thread of its own."""

    port: int
    target: int
    delay: float = 0.0  # seconds each piece waits, in each direction
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def start(self) -> "Proxy":
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.flowing.set()
        self.do(self.listen())
        return self

    def do(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run this in the proxy's thread, and wait for it."""
        asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    async def listen(self) -> None:
        await asyncio.start_server(self.connected, "localhost", self.port, family=socket.AF_INET)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            onward, away = await asyncio.open_connection("localhost", self.target, family=socket.AF_INET)
            self.writers.add(away)
            await asyncio.gather(self.pump(reader, away), self.pump(onward, writer))
            self.writers.discard(away)
        except OSError:
            pass  # either side is gone
        finally:
            self.writers.discard(writer)
            writer.close()

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One direction of one connection."""
        try:
            while piece := await reader.read(PIECE):
                await self.flowing.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(piece)
                await writer.drain()
        finally:
            writer.close()

    def hold(self, held: bool) -> None:
        """Pass nothing on, while every connection stays up; or pass on what was held."""

        async def hold() -> None:
            (self.flowing.clear if held else self.flowing.set)()

        self.do(hold())

    def cut(self, reset: bool = False) -> None:
        """End every connection: by FIN, or by RST."""

        async def cut() -> None:
            for writer in list(self.writers):
                if reset and (sock := writer.get_extra_info("socket")) is not None:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                (writer.transport.abort if reset else writer.close)()
            self.writers.clear()

        self.do(cut())

    def stop(self) -> None:
        """End the thread; sockets go with it."""
        self.cut()
        self.loop.call_soon_threadsafe(self.loop.stop)
