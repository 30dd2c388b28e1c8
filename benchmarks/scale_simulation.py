"""A class of 20,000 on 64 GPUs, simulated: what the scheduler, the driver and the shared folder see.

    python benchmarks/scale_simulation.py [--students 20000] [--gpus 64] [--at-once 8] [--seconds 1.0] [--deaths 0.5]

What a hand-in costs each of them is measured first, on this machine (`scale_costs.py`); it needs the extra `[dask]`.
How long a GPU takes for a hand-in is taken as given: 1.0 s, the goal on an H200 with 16 cores.  Jobs differ in length,
and workers die and come back.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections import Counter
from dataclasses import dataclass

from scale_costs import Costs, beats_a_second, measure

_SPREAD = 0.6  # sigma of the lognormal lengths: the slowest in a thousand takes five times the usual
_RESTART_SECONDS = 30.0
_AHEAD = 2


@dataclass(frozen=True)
class Cluster:
    students: int
    gpus: int
    at_once: int
    seconds: float
    deaths: float  # of a GPU's worker, an hour


@dataclass
class Seen:
    """What came of it."""

    end: float
    driver_busy: float
    scheduler_busy: float
    redone: int
    done_in_second: Counter[int]


def simulate(cluster: Cluster, costs: Costs, seed: int = 7) -> Seen:
    """One run: a driver and a scheduler that do one thing at a time, and slots that wait for jobs."""
    chance = random.Random(seed)
    slots = cluster.gpus * cluster.at_once
    mean = cluster.seconds * cluster.at_once
    free_at = {"driver": 0.0, "scheduler": 0.0}
    busy = Counter[str]()

    def served(by: str, now: float, cost: float) -> float:
        """When ``by`` is done with something that comes at ``now``."""
        free_at[by] = max(free_at[by], now) + cost
        busy[by] += cost
        return free_at[by]

    events: list[tuple[float, int, str, int]] = []
    number = 0

    def at(time: float, what: str, which: int = 0) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (time, number, what, which))

    left, flying, done, redone = cluster.students, 0, 0, 0
    lives = [0] * cluster.gpus  # counts up when the worker dies: what it was at is void
    running = [0] * cluster.gpus
    up = [True] * cluster.gpus
    waiting = 0
    done_in_second: Counter[int] = Counter()
    now = 0.0
    started: dict[int, tuple[int, int]] = {}

    def send() -> None:
        nonlocal left, flying
        while left and flying < _AHEAD * slots:
            left -= 1
            flying += 1
            ready = served("driver", now, costs.driver_seconds / 2)
            at(served("scheduler", ready, costs.scheduler_seconds / 2), "arrives")

    def fill() -> None:
        nonlocal waiting
        for gpu in sorted(range(cluster.gpus), key=lambda gpu: running[gpu]):
            while waiting and up[gpu] and running[gpu] < cluster.at_once:
                waiting -= 1
                running[gpu] += 1
                length = mean * chance.lognormvariate(-(_SPREAD**2) / 2, _SPREAD)
                started[number + 1] = (gpu, lives[gpu])
                at(now + length, "ends", number + 1)

    for gpu in range(cluster.gpus):
        if cluster.deaths:
            at(chance.expovariate(cluster.deaths / 3600), "dies", gpu)
    send()
    while done < cluster.students:
        now, _, what, which = heapq.heappop(events)
        if what == "arrives":
            waiting += 1
        elif what == "ends":
            gpu, life = started.pop(which)
            if lives[gpu] == life:
                running[gpu] -= 1
                done_in_second[int(now)] += 1
                told = served("scheduler", now, costs.scheduler_seconds / 2)
                at(served("driver", told, costs.driver_seconds / 2), "counted")
        elif what == "counted":
            flying -= 1
            done += 1
            send()
        elif what == "dies":
            lives[which] += 1
            redone += running[which]
            for _ in range(running[which]):
                at(served("scheduler", now, costs.scheduler_seconds / 2), "arrives")
            running[which], up[which] = 0, False
            at(now + _RESTART_SECONDS, "comes back", which)
            at(now + _RESTART_SECONDS + chance.expovariate(cluster.deaths / 3600), "dies", which)
        elif what == "comes back":
            up[which] = True
        fill()
    return Seen(now, busy["driver"], busy["scheduler"], redone, done_in_second)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=20_000)
    parser.add_argument("--gpus", type=int, default=64)
    parser.add_argument("--at-once", type=int, default=8, help="Hand-ins that a GPU grades at once.")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="That a GPU takes for a hand-in, with others beside it."
    )
    parser.add_argument("--deaths", type=float, default=0.5, help="Of a GPU's worker, an hour.")
    parser.add_argument("--jobs", type=int, default=1000, help="Empty jobs by which the scheduler is measured.")
    arguments = parser.parse_args()
    costs = measure(arguments.students, arguments.jobs)
    cluster = Cluster(arguments.students, arguments.gpus, arguments.at_once, arguments.seconds, arguments.deaths)
    seen = simulate(cluster, costs)
    _measured(costs)
    _told(cluster, costs, seen)


def _measured(costs: Costs) -> None:
    print("measured here, for each hand-in")
    print(
        f"  scheduler   {costs.scheduler_seconds * 1e3:8.2f} ms   {costs.wire_writes:.1f} messages sent, "
        f"{costs.wire_reads:.1f} got, {costs.wire_bytes / 1e3:.1f} kB sent"
    )
    print(f"  driver      {costs.driver_seconds * 1e3:8.2f} ms")
    print(
        f"  scheduler, for each sign of life of a worker: {costs.beat_seconds * 1e3:.2f} ms, "
        f"{costs.beat_writes:.1f} messages sent"
    )
    print(
        f"  shared folder: {costs.looked_at:.0f} looks (stat, access, listing), {costs.opened:.1f} files read "
        f"({costs.bytes_read / 1e3:.0f} kB), {costs.created:.1f} made and {costs.renamed:.1f} renamed "
        f"({costs.bytes_written / 1e3:.0f} kB), {costs.removed:.1f} removed, {costs.synced:.1f} fsyncs"
    )
    print(f"  whether it is done, in a second run: {costs.look_seconds * 1e3:.2f} ms")


def _told(cluster: Cluster, costs: Costs, seen: Seen) -> None:
    many = cluster.students + seen.redone
    ideal = cluster.students * cluster.seconds / cluster.gpus
    peak = max(seen.done_in_second.values())
    beats = beats_a_second(cluster.gpus)
    idle = beats * costs.beat_writes
    scheduler = seen.scheduler_busy / seen.end + beats * costs.beat_seconds
    print(
        f"\nsimulated: {cluster.students} hand-ins, {cluster.gpus} GPUs, {cluster.at_once} at once on each, "
        f"{cluster.deaths} deaths a GPU and hour"
    )
    print(
        f"  done after     {seen.end / 60:8.1f} min   {seen.end / ideal:.2f} times the ideal; {seen.redone} done again"
    )
    print(f"  hand-ins       {cluster.students / seen.end:8.1f} a second, {peak} at the most")
    print(
        f"  scheduler      {100 * scheduler:8.1f} % busy   "
        f"{many * costs.wire_writes / seen.end + idle:.0f} messages a second sent, "
        f"{many * costs.wire_writes / 1e3:.0f} thousand in all; "
        f"{many * costs.wire_bytes / seen.end / 1e3:.0f} kB a second, {many * costs.wire_bytes / 1e6:.0f} MB in all"
    )
    print(
        f"  driver         {100 * seen.driver_busy / seen.end:8.1f} % busy   "
        f"before: {costs.due_seconds:.1f} s and {costs.due_bytes / 1e6:.0f} MB for hand-ins.json, twice; "
        f"a second run that finds all done: {cluster.students * costs.look_seconds:.0f} s"
    )
    rows = {
        "looks": costs.looked_at,
        "files read": costs.opened,
        "files made": costs.created,
        "renames": costs.renamed,
        "removals": costs.removed,
        "fsyncs": costs.synced,
        "MB read": costs.bytes_read / 1e6,
        "MB written": costs.bytes_written / 1e6,
    }
    print("  shared folder    a second    at peak      in all")
    for name, each in rows.items():
        print(f"    {name:12} {many * each / seen.end:10.1f} {peak * each:10.1f} {many * each:11.0f}")
    print(
        f"    left behind: {cluster.students} results, {cluster.students * costs.kept_files_left:.0f} verdicts in .kept"
    )
    print(
        f"ratio: the scheduler would carry {1 / scheduler:.0f} times as many GPUs, "
        f"the driver {seen.end / seen.driver_busy:.0f} times"
    )


if __name__ == "__main__":
    main()
