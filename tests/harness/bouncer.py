"""A real PgBouncer in transaction mode, in front of a private PostgreSQL: its own folder and loopback port.

    with Bouncer(cluster, "demo") as bouncer:
        connection = await asyncpg.connect(bouncer.url, statement_cache_size=0)

Needs the program `pgbouncer` (a package of every distribution); `is_installed()` says whether it is there.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.harness.addresses import HOST, free_port
from tests.harness.postgres import Cluster
from tests.harness.process_reaper import undertaker

DEADLINE_S = 60.0
POLL_S = 0.01  # it says nothing when it is ready
SERVER_CONNECTIONS = 10  # fewer than its clients have: they share
PLACES = (os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")  # no PATH of a plain user has it


def is_installed() -> bool:
    return _program() is not None


class Bouncer:
    def __init__(self, cluster: Cluster, dbname: str) -> None:
        self._server = urlsplit(cluster.url(dbname))
        self._dbname = dbname
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="mainspring-bouncer-"))
        undertaker.watch_folder(self._folder)

    @property
    def url(self) -> str:
        here = f"{self._server.username}:{self._server.password}@{HOST}:{self._port}"
        return f"postgresql://{here}/{self._dbname}"

    def __enter__(self) -> Self:
        users = self._folder / "users"
        users.write_text(f'"{self._server.username}" "{self._server.password}"\n')
        file = self._folder / "bouncer.ini"
        file.write_text(
            f"[databases]\n{self._dbname} = host={self._server.hostname} port={self._server.port}\n"
            f"[pgbouncer]\nlisten_addr = {HOST}\nlisten_port = {self._port}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {users}\n"
            f"pool_mode = transaction\ndefault_pool_size = {SERVER_CONNECTIONS}\nmax_client_conn = 200\n"
        )
        program = _program()
        assert program is not None, "pgbouncer is not installed"
        owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None  # it refuses root, too
        for path in (self._folder, users, file):
            if owner is not None:
                os.chown(path, owner.pw_uid, owner.pw_gid)
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, "-q", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=None if owner is None else owner.pw_uid,
                group=None if owner is None else owner.pw_gid,
                start_new_session=True,  # Ctrl-C is for the tests; they stop it
            )
        undertaker.watch(self._process.pid)
        self._wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            undertaker.forget(self._process.pid)
        shutil.rmtree(self._folder, ignore_errors=True)
        undertaker.forget_folder(self._folder)

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + DEADLINE_S
        while True:
            log = (self._folder / "log").read_text(errors="replace")
            assert self._process.poll() is None, f"pgbouncer ended:\n{log}"
            assert time.monotonic() < deadline, f"pgbouncer does not listen within {DEADLINE_S} s:\n{log}"
            try:
                socket.create_connection((HOST, self._port), 1).close()
                return
            except ConnectionRefusedError:
                time.sleep(POLL_S)


def _program() -> str | None:
    return shutil.which("pgbouncer", path=os.pathsep.join(PLACES))
