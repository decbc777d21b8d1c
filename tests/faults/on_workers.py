"""Faults of workers: killed, stopped, paused, refused by the broker, joining and leaving."""

import os
import signal

from tests.e2e.world import Worker
from tests.faults.harness import OWNED_BY_ANOTHER, Field
from tests.waiting import until

FROZEN = ("batch-made", "outputs-sent", "before-commit")
POINTS = ("outputs-sent", "before-commit", "after-commit", "mid-restore")


def kill(here: Field, times: int, workers: int) -> None:
    """SIGKILL at random times."""
    here.muster(workers)
    here.load.start()
    for _ in here.until_struck(times):
        hits = here.about_to_strike()
        here.rng.choice(list(here.crew.values())).kill()
        here.struck("SIGKILL", hits)
        if here.rng.random() < 0.2:
            here.look()
    here.settle()


def kill_one(here: Field, times: int) -> None:
    """SIGKILL at random times, one worker."""
    kill(here, times, 1)


def kill_three(here: Field, times: int) -> None:
    """SIGKILL at random times, one of three workers."""
    kill(here, times, 3)


def settling(here: Field, times: int) -> None:
    """Windows have closed, and ticks come all the while that workers are killed: each run is settled, and once."""
    here.environment["SETTLE_GRACE_SECONDS"] = "0"
    here.verifier.settling, here.arguments = True, ("--slow", "0.05")
    here.muster(2)
    here.load.start()
    for _ in here.until_struck(times):
        before = here.verifier.ticks()
        here.await_progress(condition=lambda before=before: here.verifier.ticks() > before)
        hits = here.about_to_strike()
        here.rng.choice(list(here.crew.values())).kill()
        here.struck("SIGKILL", hits)
    here.settle()


def kill_points(here: Field, times: int) -> None:
    """SIGKILL at named points, in each of the two pipelines in turn."""
    here.muster(1)
    here.load.start()
    here.about_to_strike()
    here.crew[0].kill()
    plan = [(point, pipeline) for point in POINTS for pipeline in ("runs", "commits")]
    for number in here.until_struck(times):
        point, pipeline = plan[here.strikes.total() % len(plan)]
        count = 1 if point == "mid-restore" else here.rng.randint(1, 12)
        before = here.position()
        worker = here.crew[0] = here.worker(*here.arguments, "--die", f"{point}:{pipeline}:{count}")
        until(lambda worker=worker: worker.process.poll() is not None, f"dies {point}:\n{worker.said()}", 90)
        moved = here.position() > before or point == "mid-restore" or count == 1
        here.struck(f"{point}:{pipeline}", moved and worker.process.returncode == -signal.SIGKILL and here.behind() > 0)
        if number % 4 == 0:
            here.look()
    here.note_end(here.crew[0])
    here.revive()
    here.settle()


def expect_ends(here: Field, times: int, option: str, sentence: str, **environment: str) -> None:
    """A worker with this option comes to its end by itself, with 75 and this sentence, so often; another goes on."""
    here.load.start()
    for _ in here.until_struck(times):
        worker = here.crew[0] = here.worker(*here.arguments, option, str(here.rng.randint(3, 12)), **environment)
        here.expect_end(worker, 75, sentence)
        here.struck(option.strip("-"), here.behind() > 0)
        here.look()
    here.revive()
    here.settle()


def refused(here: Field, times: int) -> None:
    """A transaction is not acknowledged: the worker ends with 75, and what it held is read again."""
    expect_ends(here, times, "--refuse", "the broker failed us")


def timed_out(here: Field, times: int) -> None:
    """A transaction stays open longer than the broker bears: it is ended, and the worker's commit refused."""
    expect_ends(here, times, "--stall", OWNED_BY_ANOTHER, TRANSACTION_TIMEOUT_SECONDS="2")


def rolling_terms(here: Field, times: int) -> None:
    """SIGTERM to one of two workers after the other; each is gone within 10 s with exit code 0."""

    def stop(number: int) -> str:
        worker = here.crew[number % 2]
        worker.send(signal.SIGTERM)
        until(lambda: worker.process.poll() is not None, "is gone", 10)
        return "SIGTERM"

    here.strike(times, 2, stop)
    if here.exits[75]:
        here.violations.append(f"I6: SIGTERM ended {here.exits[75]} workers with 75")


def pause(here: Field, times: int) -> None:
    """Frozen in the middle of a batch, past the session; another takes over; the zombie wakes up and is fenced."""
    here.load.start()
    for number in here.until_struck(times):
        here.struck("SIGSTOP", freeze(here, FROZEN[number % len(FROZEN)]))
        here.look()
    here.settle()


def freeze(here: Field, point: str, *options: str) -> bool:
    """A worker halts itself at this point, and goes on when another has taken over. Whether it was fenced."""
    where = f"{point}:runs:{here.rng.randint(3, 12)}"
    zombie = here.crew[0] = here.worker(*here.arguments, "--halt", where, *options)
    zombie.wait(lambda: is_halted(zombie), f"halts {where}", 60)
    here.crew[1] = here.worker(*here.arguments)
    here.crew[1].wait_said("serving", seconds=60)
    here.moved = here.position()
    until(lambda: here.position() > here.moved, "the other goes on", 60)
    zombie.send(signal.SIGCONT)
    ended = zombie_moved(zombie)
    here.crew[0] = here.crew.pop(1)
    here.crew[0].send(signal.SIGTERM)
    here.crew[0].wait_end(20)
    if not ended:
        zombie.kill()
    return OWNED_BY_ANOTHER in zombie.said()


def is_halted(worker: Worker) -> bool:
    """Whether the process is stopped by a signal."""
    flags = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
    return worker.process.poll() is None and os.waitid(os.P_PID, worker.process.pid, flags) is not None


def zombie_moved(zombie: Worker) -> bool:
    """Whether it has ended; else it has joined again."""
    until(lambda: zombie.process.poll() is not None or zombie.said().count("serving") > 1, "the zombie moves", 60)
    return zombie.process.poll() is not None


def storm(here: Field, times: int) -> None:
    """Workers join and leave, and are killed, faster than the group can settle."""
    here.muster(2)
    here.load.start()
    for number in range(times):
        hits = here.about_to_strike(0.5) if number % 4 == 0 else None
        place = here.rng.randrange(4)
        if place in here.crew and here.crew[place].process.poll() is None:
            here.crew[place].send(here.rng.choice((signal.SIGTERM, signal.SIGKILL)))
        else:
            here.crew[place] = here.worker(*here.arguments)
        if hits is not None:
            here.struck("storm", hits)
    here.settle()


def burst(here: Field, times: int) -> None:
    """Ten times the input for a while, and a SIGKILL in the middle of it: the backlog is worked off, not the memory."""
    here.muster(1)
    here.load.start()
    for _ in here.until_struck(times):
        here.await_progress()
        here.load.chunk_size *= 10
        here.let_pass(here.long_seconds / 2)
        hits = here.about_to_strike()
        here.crew[0].kill()
        here.struck("burst", hits)
        here.let_pass(here.long_seconds / 2)
        here.load.chunk_size //= 10
    here.arguments = ()
    here.settle()
