"""An owner's key, a real server and every phase of schemathesis: no 5xx, no traceback, no growth of memory.

`pytest --long --fuzz-minutes 60 tests/api/test_fuzz.py` fuzzes for an hour on each database. `make test` leaves it out:
there `test_schemathesis.py` sends some requests to every operation.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from mainspring.wiring.stores import open_stores
from tests.api.people import a_key
from tests.faults.conftest import Figures, figures, seed
from tests.faults.process_stats import Vitals
from tests.harness.process_reaper import undertaker
from tests.harness.processes import Process, Processes, clean_environment

__all__ = ["figures", "seed"]

PHASES = "examples,coverage,fuzzing,stateful"
CHECKS = ",".join(
    (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "use_after_free",
    )
)
ROUNDS = 4  # each with its own seed and key; memory is compared between the first and the last
GROWTH_MAX_MB = 60  # caches that have a bound fill up for longer than one round
ASKED_EVERY_S = 5
DEAD_MAX = 0.05  # of the time; schemathesis may revoke its own key, and then a new slice begins with another
ENDED_S = 900  # more than its time, for what it writes at the end
BROKEN = ("Traceback (most recent call last)", "request failed", '"level": "error"', '"level": "critical"')


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/mainspring.db"
    else:
        yield request.getfixturevalue("postgres_url")


def serve(processes: Processes, url: str, folder: Path) -> tuple[Process, str]:
    """The real server without a limit of requests; it stays on this machine."""
    env = {
        "MAINSPRING_DATABASE_URL": url,
        "MAINSPRING_DATA_DIR": str(folder),
        "MAINSPRING_LOG_FORMAT": "json",
        "MAINSPRING_LOG_LEVEL": "warning",
        "MAINSPRING_API_REQUESTS_PER_MINUTE": "0",
        "MAINSPRING_API_REQUESTS_PER_MINUTE_OF_TENANT": "0",
    }
    command = [sys.executable, "-m", "tests.harness.contained", "serve", "--port", "0"]
    process = processes.start_command(command, env=env)
    return process, process.wait_for("listening on").split()[-1]


class Fuzzing:
    """What the rounds found, what the server used, and for how long the key was not accepted."""

    def __init__(self, server: Process, url: str, folder: Path) -> None:
        self.server, self.url, self.folder = server, url, folder
        self.found: list[str] = []
        self.rss_mb: list[int] = []
        self.slices = 0
        self.fuzzed_s = 0.0
        self.dead_s = 0.0  # the longest that the key may have been refused before it was noticed, over all slices

    def run_slice(self, key: str, seed: int, seconds: int) -> None:
        """Fuzz for so long, or until the key is no longer accepted."""
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{self.url}/api/v1/openapi.json",
            "--phases", PHASES, "--checks", CHECKS, "--max-time", str(seconds), "--seed", str(seed),
            "--header", f"Authorization: Bearer {key}", "--exclude-path-regex", "stream",
            "--request-timeout", "60", "--continue-on-failure", "--suppress-health-check", "all",
            "--warnings", "off", "--no-color", "--no-shrink",
        ]  # fmt: skip
        self.slices += 1
        began = time.monotonic()
        with (self.folder / f"fuzz-{seed}.txt").open("w+") as output:
            program = subprocess.Popen(
                command, cwd=self.folder, env=clean_environment(), stdout=output, stderr=subprocess.STDOUT, text=True
            )
            undertaker.watch(program.pid)
            was_revoked = self._watch(program, key, began + seconds + ENDED_S)
            undertaker.forget(program.pid)
            output.seek(0)
            if program.returncode and not was_revoked:
                self.found.append(output.read()[-20_000:])
        self.fuzzed_s += time.monotonic() - began
        self.rss_mb.append(round(Vitals.of(self.server.pid).rss_mb))

    def _watch(self, program: "subprocess.Popen[str]", key: str, until: float) -> bool:
        """Wait for its end; end it where the key was revoked, for a refused key makes every answer look clean."""
        accepted_at = time.monotonic()
        while True:
            try:
                program.wait(ASKED_EVERY_S)
                is_over = True
            except subprocess.TimeoutExpired:
                is_over = False
            if is_accepted(self.url, key):
                accepted_at = time.monotonic()
                if is_over:
                    return False
                assert accepted_at < until, "schemathesis does not end"
                continue
            self.dead_s += time.monotonic() - accepted_at
            program.terminate()
            program.wait(60)
            return True


def is_accepted(url: str, key: str) -> bool:
    answer = httpx2.get(f"{url}/api/v1/endpoints?limit=1", headers={"Authorization": f"Bearer {key}"}, timeout=60)
    assert answer.status_code in (200, 401), answer.text
    return answer.status_code == 200


async def key_of_owner(url: str) -> str:
    async with open_stores(url) as stores:
        return await a_key(stores)


async def test_fuzzing_as_an_owner_breaks_nothing_and_leaves_no_memory_behind(
    database_url: str,
    processes: Processes,
    tmp_path: Path,
    long_run: bool,
    fuzz_minutes: float,
    seed: int,
    figures: Figures,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not long_run:
        pytest.skip("takes --fuzz-minutes; run it with --long")
    server, url = serve(processes, database_url, tmp_path)
    fuzzing = Fuzzing(server, url, tmp_path)
    round_s = max(1, int(fuzz_minutes * 60 / ROUNDS))
    after_rounds = []
    for _ in range(ROUNDS):
        until = fuzzing.fuzzed_s + round_s
        while (left_s := int(until - fuzzing.fuzzed_s)) > 0:
            fuzzing.run_slice(await key_of_owner(database_url), seed + fuzzing.slices, left_s)
        after_rounds.append(fuzzing.rss_mb[-1])
    broken = [line for line in server.lines if any(sign in line for sign in BROKEN)]
    code = server.terminate(60)

    with capsys.disabled():
        figures(
            minutes=round(fuzzing.fuzzed_s / 60, 1),
            slices=fuzzing.slices,
            key_refused_s=round(fuzzing.dead_s),
            rss_mb=fuzzing.rss_mb,
            rss_mb_after_rounds=after_rounds,
            exit_code=code,
        )
    assert not fuzzing.found, "\n\n".join(fuzzing.found)
    assert broken == []
    assert code == 0
    assert fuzzing.dead_s <= DEAD_MAX * fuzzing.fuzzed_s + ASKED_EVERY_S
    assert after_rounds[-1] - after_rounds[0] <= GROWTH_MAX_MB
