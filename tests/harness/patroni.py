"""A small Patroni cluster: etcd, two members that Patroni runs, and HAProxy that leads to whichever is the leader.

    with PatroniCluster() as cluster:
        url = cluster.create_database("demo")       # by HAProxy; `direct_url` names both members
        cluster.kill_leader()                       # PostgreSQL and its Patroni at once
        cluster.switch_over()                       # planned, as before maintenance

Needs `patroni`, `etcd`, `haproxy` and a PostgreSQL of the system; `missing()` names what is not installed. Patroni runs
the system's PostgreSQL, because it starts programs by their usual names. Synchronous mode is on.
"""

import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.harness.addresses import HOST, free_port
from tests.harness.process_reaper import undertaker
from tests.harness.waiting import wait_until

DEADLINE_S = 120.0
PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
PASSWORD = "faults"  # on loopback, for the minutes of a test
# Of the defaults (30, 10, 10) a third: the time until a leader that died is replaced, of which nothing here is ours.
TTL = {"ttl": 20, "loop_wait": 2, "retry_timeout": 5}


def missing() -> list[str]:
    found = [name for name in ("patroni", "etcd", "haproxy") if shutil.which(name, path=PLACES) is None]
    return found + ([] if _binaries() is not None else ["postgresql"])


class Member:
    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder / name
        self.port, self.rest_port = free_port(), free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def role(self) -> str:
        """`primary`, `replica`, or nothing while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.rest_port}/patroni", timeout=2) as answer:
                said = json.loads(answer.read())
        except urllib.error.HTTPError as fault:
            said = json.loads(fault.read())
        except (OSError, ValueError):
            return ""
        is_running = said.get("state") == "running"
        return {"master": "primary", "primary": "primary"}.get(said.get("role"), "replica") if is_running else ""

    @property
    def is_synchronous(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.rest_port}/synchronous", timeout=2):
                return True
        except OSError:
            return False

    @property
    def postmaster(self) -> int | None:
        try:
            return int((self.folder / "data/postmaster.pid").read_text().splitlines()[0])
        except (OSError, ValueError, IndexError):
            return None


class PatroniCluster:
    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mainspring-patroni-", dir="/tmp"))
        undertaker.watch_folder(self._folder)
        self._owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._etcd_port, self._etcd_peer, self.proxy_port = free_port(), free_port(), free_port()
        self.members = [Member(name, self._folder) for name in ("one", "two")]
        self._processes: list[subprocess.Popen[bytes]] = []
        binaries = _binaries()
        assert binaries is not None, "no PostgreSQL of the system"
        self._binaries = binaries
        self._own(self._folder)

    @property
    def leader(self) -> Member:
        leaders = wait_until(lambda: [m for m in self.members if m.role == "primary"], "a leader", DEADLINE_S)
        return leaders[0]

    @property
    def log(self) -> str:
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in sorted(self._folder.glob("*.log")))

    def create_database(self, name: str) -> str:
        self._psql(f"CREATE ROLE mainspring LOGIN PASSWORD '{PASSWORD}'")
        self._psql(f"CREATE DATABASE {name} OWNER mainspring")
        return f"postgresql://mainspring:{PASSWORD}@{HOST}:{self.proxy_port}/{name}"

    def direct_url(self, url: str) -> str:
        """The same database without HAProxy: both members are named."""
        hosts = ",".join(f"{HOST}:{member.port}" for member in self.members)
        return url.replace(f"{HOST}:{self.proxy_port}", hosts)

    def wait_until_safe(self) -> None:
        """Until commits wait for the replica, and Patroni knows so: only then it may be promoted."""
        wait_until(lambda: any(member.is_synchronous for member in self.members), "a synchronous replica", DEADLINE_S)

    def kill_leader(self) -> float:
        """As if its machine lost power: Patroni and PostgreSQL are gone. Starts it again once the other one leads."""
        dead = self.leader
        other = next(member for member in self.members if member is not dead)
        assert dead.process is not None
        dead.process.kill()
        dead.process.wait()
        if (pid := dead.postmaster) is not None:
            os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: other.role == "primary", "the other member leads", DEADLINE_S)
        promoted_at = time.time()
        self._start_member(dead)
        return promoted_at

    def switch_over(self) -> float:
        leader = self.leader
        other = next(member for member in self.members if member is not leader)
        body = json.dumps({"leader": leader.name, "candidate": other.name}).encode()
        request = urllib.request.Request(f"http://{HOST}:{leader.rest_port}/switchover", body, method="POST")

        def is_accepted() -> bool:
            try:
                with urllib.request.urlopen(request, timeout=60):
                    return True
            except urllib.error.HTTPError:  # until etcd knows that the candidate is synchronous
                return False

        wait_until(is_accepted, "the switchover is accepted", DEADLINE_S)
        wait_until(lambda: other.role == "primary", "the other member leads", DEADLINE_S)
        return time.time()

    def __enter__(self) -> Self:
        try:
            self._start_etcd()
            for member in self.members:
                self._start_member(member)
            self._start_proxy()
            self.wait_until_safe()
        except BaseException as fault:
            fault.add_note(self.log)
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            undertaker.forget(process.pid)
        for member in self.members:
            if (pid := member.postmaster) is not None:
                try:
                    os.kill(pid, signal.SIGQUIT)
                except ProcessLookupError:
                    continue
                wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), "PostgreSQL ends")  # type: ignore[misc]  # bound now
        shutil.rmtree(self._folder, ignore_errors=True)
        undertaker.forget_folder(self._folder)

    def _start_etcd(self) -> None:
        client, peer = f"http://{HOST}:{self._etcd_port}", f"http://{HOST}:{self._etcd_peer}"
        self._start(
            "etcd",
            [
                "etcd",
                "--name",
                "only",
                "--data-dir",
                str(self._folder / "etcd"),
                "--enable-v2=true",
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                f"only={peer}",
            ],
        )

        def is_healthy() -> bool:
            try:
                with urllib.request.urlopen(f"{client}/health", timeout=2) as answer:
                    return bool(answer.status == 200)
            except OSError:
                return False

        wait_until(is_healthy, "etcd answers", DEADLINE_S)

    def _start_member(self, member: Member) -> None:
        file = self._folder / f"{member.name}.json"
        member.folder.mkdir(exist_ok=True)
        self._own(member.folder)
        rules = [
            "local all all trust",
            f"host replication all {HOST}/32 scram-sha-256",
            f"host all all {HOST}/32 scram-sha-256",
        ]
        users = {"superuser": {"username": "postgres", "password": PASSWORD}}
        users["replication"] = {"username": "replicator", "password": PASSWORD}
        file.write_text(  # JSON is YAML
            json.dumps(
                {
                    "scope": "faults",
                    "name": member.name,
                    "restapi": {
                        "listen": f"{HOST}:{member.rest_port}",
                        "connect_address": f"{HOST}:{member.rest_port}",
                    },
                    "etcd": {"host": f"{HOST}:{self._etcd_port}"},
                    "bootstrap": {
                        "dcs": {
                            **TTL,
                            "synchronous_mode": True,
                            "postgresql": {"use_pg_rewind": True, "parameters": {"wal_log_hints": "on"}},
                        },
                        "initdb": ["data-checksums", {"encoding": "UTF8"}],
                    },
                    "postgresql": {
                        "listen": f"{HOST}:{member.port}",
                        "connect_address": f"{HOST}:{member.port}",
                        "data_dir": str(member.folder / "data"),
                        "bin_dir": str(self._binaries),
                        "authentication": users,
                        "pg_hba": rules,
                        "parameters": {"unix_socket_directories": str(member.folder), "max_connections": 200},
                    },
                }
            )
        )
        self._own(file)
        member.process = self._start(member.name, ["patroni", str(file)])

    def _start_proxy(self) -> None:
        check = "inter 1s fall 2 rise 1 on-marked-down shutdown-sessions"
        servers = "".join(
            f"    server {m.name} {HOST}:{m.port} check port {m.rest_port} {check}\n" for m in self.members
        )
        file = self._folder / "haproxy.cfg"
        file.write_text(
            "defaults\n    mode tcp\n    timeout connect 2s\n    timeout client 1h\n    timeout server 1h\n"
            "    timeout check 2s\n"
            f"listen primary\n    bind {HOST}:{self.proxy_port}\n    option httpchk GET /primary\n"
            f"    http-check expect status 200\n{servers}"
        )
        self._own(file)
        self._start("haproxy", ["haproxy", "-db", "-f", str(file)])

    def _psql(self, statement: str) -> str:
        url = f"postgresql://postgres:{PASSWORD}@{HOST}:{self.leader.port}/postgres"
        line = [str(self._binaries / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", statement]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _start(self, name: str, command: list[str]) -> "subprocess.Popen[bytes]":
        program = shutil.which(command[0], path=PLACES)
        assert program is not None, f"{command[0]} is not installed"
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [program, *command[1:]],
                cwd=self._folder,
                env={"PATH": f"{self._binaries}:{PLACES}", "HOME": str(self._folder), "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=None if self._owner is None else self._owner.pw_uid,
                group=None if self._owner is None else self._owner.pw_gid,
                start_new_session=True,  # Ctrl-C is for the tests; they stop it
            )
        undertaker.watch(process.pid)
        self._processes.append(process)
        return process

    def _own(self, path: Path) -> None:
        if self._owner is not None:
            os.chown(path, self._owner.pw_uid, self._owner.pw_gid)


def _binaries() -> Path | None:
    """The system's newest PostgreSQL: Patroni of a distribution knows no newer one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    return found[-1] if found else None
