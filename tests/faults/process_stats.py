"""What a process uses, from /proc: its time on a processor and its memory."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Vitals:
    at: float
    cpu_s: float
    rss_mb: float

    @classmethod
    def of(cls, pid: int) -> Self:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return cls(
            time.monotonic(),
            (int(fields[11]) + int(fields[12])) / TICKS_PER_S,
            int(fields[21]) * PAGE_BYTES / 1_000_000,
        )

    def cpu_share_since(self, before: Self) -> float:
        """Of one core."""
        return (self.cpu_s - before.cpu_s) / (self.at - before.at)

    def growth_mb_since(self, before: Self) -> float:
        return self.rss_mb - before.rss_mb
