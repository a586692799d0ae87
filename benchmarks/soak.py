"""Whether `mainspring scheduler` runs for hours as it did in the first minute: size, dead rows, lateness.

    python -m benchmarks.soak [--endpoints 1000] [--minutes 60] [--keep 5m] [--sample 60] [--workers 1]

PostgreSQL, default settings but for the retention. Every endpoint runs once a second on a loopback address of its own.
Prints a line for each sample, and at the end the ratios of the last quarter to the second, when the retention is full.
"""

import argparse
import asyncio
import statistics
from datetime import timedelta

from msgspec import Struct
from tests.harness.postgres import Cluster

from benchmarks.retention import HISTORY
from benchmarks.scheduler_process import LATE, prepare, processor_s, schedulers
from benchmarks.target import running_target
from benchmarks.world import steal_told
from mainspring.domain.duration import parse_duration_ms
from mainspring.wiring.clock import SystemClock


class Sample(Struct, frozen=True):
    minute: float
    runs: int
    late_p50_ms: float
    late_p99_ms: float
    size_mb: float
    dead: int
    partitions: int
    processor_ms: float  # of one run, with the server

    def __str__(self) -> str:
        return (
            f"minute {self.minute:5.1f}: {self.runs:,} runs, late p50 {self.late_p50_ms:.1f} ms, p99 "
            f"{self.late_p99_ms:.1f} ms, {self.size_mb:.1f} MB, {self.dead:,} dead rows, {self.partitions} partitions, "
            f"{self.processor_ms:.3f} ms a run"
        )


async def soak(cluster: Cluster, target: str, options: argparse.Namespace) -> list[Sample]:
    url = cluster.create_database("bench")
    connection = await prepare(url, target, options.endpoints)
    keep = dict.fromkeys(("KEEP_RUNS", "KEEP_BODIES", "KEEP_EVENTS"), options.keep)
    samples: list[Sample] = []
    with schedulers(url, options.workers, **keep) as processes:
        pids = [process.pid for process in processes]
        started = SystemClock().now()
        while (began := SystemClock().now()) - started < timedelta(minutes=options.minutes):
            used_s = sum(map(processor_s, pids)) + processor_s(cluster.pid, children=True)
            await asyncio.sleep(options.sample)
            now = SystemClock().now()
            used_s = sum(map(processor_s, pids)) + processor_s(cluster.pid, children=True) - used_s
            runs, late = await connection.fetchrow(LATE, began, now)
            assert runs, processes[0].output
            size, dead, partitions = await connection.fetchrow(HISTORY)
            minute = (now - started) / timedelta(minutes=1)
            samples.append(Sample(minute, runs, *late, int(size) / 1e6, int(dead), partitions, used_s / runs * 1000))
            print(samples[-1], flush=True)
    await connection.close()
    return samples


def compared(samples: list[Sample]) -> str:
    """The last quarter against the second: medians, because a checkpoint makes one sample slow."""
    size = len(samples) // 4
    second, last = samples[size : 2 * size], samples[-size:]
    fields = ("runs", "late_p50_ms", "late_p99_ms", "size_mb", "dead", "processor_ms")
    ratios = {
        name: statistics.median(getattr(each, name) for each in last)
        / max(statistics.median(getattr(each, name) for each in second), 1e-9)
        for name in fields
    }
    return "last against second quarter: " + ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--keep", default="5m", help="retention of runs, bodies and events")
    parser.add_argument("--sample", type=float, default=60, help="seconds")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    parse_duration_ms(options.keep, field="keep")
    with running_target("0.0.0.0") as listening, steal_told():
        with Cluster(fsync=True, settings={"shared_buffers": "256MB"}) as cluster:
            target = listening.replace("0.0.0.0", "127.0.0.1")
            samples = asyncio.run(soak(cluster, target, options))
        if len(samples) >= 4:
            print(compared(samples))


if __name__ == "__main__":
    main()
