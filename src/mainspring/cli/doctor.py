"""`mainspring doctor`: check everything that is usually wrong, and suggest a fix for each problem.

A finding is `ok`, a `warning` (it works, but needs attention) or an `error` (it does not work); any error makes the
exit code 1. Opening the database migrates its schema, as every command does. A database that does not exist is not
created.
"""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mainspring import __version__
from mainspring.cli.command import OutputOption, complete, current_settings, empty_database, fail_unless
from mainspring.cli.endpoint_output import live_schedulers
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.settings import masked
from mainspring.domain.errors import MainspringError, Misconfigured, NoDatabase
from mainspring.views.sentences import awaited, clock, relative, wait_advice
from mainspring.wiring.files import file_limit, files_for, places_within

if TYPE_CHECKING:
    from mainspring.ports.stores import Stores
    from mainspring.ports.upkeep import StoreFacts
    from mainspring.settings import Settings

OK, WARNING, ERROR = "ok", "warning", "error"
SKEW_WARNING, SKEW_ERROR = timedelta(seconds=2), timedelta(seconds=30)
NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "glusterfs", "ceph", "lustre")
BLOCKED_LOOKED_AT = 20
DISK_BYTES_MIN = 100_000_000
WAITS_SHOWN = 5


class Finding(NamedTuple):
    check: str
    level: str
    message: str
    way_out: str = ""


def doctor(output: OutputOption = Output.TABLE) -> None:
    """Check the installation and suggest fixes.

    Checks the database, its schema and clock, the secret key, the workers and their backlog, the data directory, the
    networks that may be called, email and webhooks, accounts and keys, workflows and retention. Exits with 1 if
    something is wrong.
    """
    settings = current_settings()
    findings = [
        *_program(),
        *_model(settings),
        *_files(settings),
        *_ping(),
        *_kinds(),
        *_brokers(),
        *_data_dir(settings),
        *_config_dir(settings),
        *complete(_database(settings)),
    ]
    if output is Output.JSON:
        show_json([finding._asdict() for finding in findings])
    else:
        _show(findings)
    fail_unless(all(finding.level != ERROR for finding in findings))


def _config_dir(settings: "Settings") -> Iterator[Finding]:
    """The watched directory: whether it and its documents can be read. `diff` shows what they would change."""
    if settings.config_dir is None:
        return
    from mainspring.documents.document import parse_documents
    from mainspring.documents.faults import InvalidDocument
    from mainspring.documents.files import read_files

    folder = settings.config_dir
    try:
        files = read_files([str(folder)])
        faults = parse_documents(files, folder.resolve().name).faults
    except InvalidDocument as refused:
        faults = list(refused.faults)
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        message = f"{faults[0].place}: {faults[0].message}{more}"
        yield Finding("config folder", ERROR, message, f"correct it; `mainspring diff {folder}` shows all errors")
        return
    yield Finding("config folder", OK, f"{folder} has {len(files)} document{'' if len(files) == 1 else 's'}")


def _show(findings: list[Finding]) -> None:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        say(f"{finding.level:<7}  {finding.check:<{width}}  {finding.message}")
        if finding.way_out:
            say(f"{'':<7}  {'':<{width}}  -> {finding.way_out}")
    errors = sum(finding.level == ERROR for finding in findings)
    warnings = sum(finding.level == WARNING for finding in findings)
    print()
    if errors or warnings:
        say(f"{errors} error{'' if errors == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}.")
    else:
        say("Everything is fine.")


def _model(settings: "Settings") -> Iterator[Finding]:
    if not settings.model:
        how = "for a model too, set MAINSPRING_MODEL=openai:NAME and MAINSPRING_MODEL_KEY, or MAINSPRING_MODEL_URL"
        yield Finding("planner", OK, f"rules only, which need no key; {how}")
        return
    from mainspring.domain.errors import Misconfigured
    from mainspring.wiring.planner import check_settings

    try:
        check_settings(settings)
    except Misconfigured as fault:
        yield Finding("planner", ERROR, str(fault), "correct the setting, or unset MAINSPRING_MODEL for rules only")
    else:
        yield Finding(
            "planner", OK, f"rules, and the model {settings.model}, which runs in a separate process during sessions"
        )


def _files(settings: "Settings") -> Iterator[Finding]:
    """The limit on open files, which a scheduler started from here would raise as far as allowed."""
    files, wanted = file_limit(hard=True), settings.concurrency
    needed = files_for(wanted)
    if files < needed:
        message = f"this process may open {files:,} files, enough for {places_within(files):,} of {wanted:,} places"
        way_out = f"allow {needed:,}: `ulimit -Hn {needed}`, LimitNOFILE={needed}; or lower MAINSPRING_CONCURRENCY"
        yield Finding("open files", WARNING, message, way_out)
        return
    yield Finding("open files", OK, f"this process may open {files:,} files, enough for {wanted:,} places")


def _ping() -> Iterator[Finding]:
    """Whether endpoints of kind `ping` can run here."""
    from mainspring.wiring.outbound import why_no_ping

    refused = why_no_ping()
    if refused is None:
        yield Finding("ping", OK, "echo requests are allowed")
        return
    yield Finding(
        "ping",
        OK,
        "endpoints of kind ping are blocked: ICMP sockets are not allowed to this process",
        "to allow them on Linux: sysctl -w net.ipv4.ping_group_range='0 2147483647'",
    )


def _brokers() -> Iterator[Finding]:
    """Which brokers endpoints of kind `queue` can publish to from here."""
    from mainspring.domain.kinds.installed import is_importable
    from mainspring.domain.kinds.queue import PROTOCOLS

    known = {each.name: each for each in PROTOCOLS.values()}
    missing = [each for each in known.values() if not is_importable(each.package)]
    if not missing:
        yield Finding("queue", OK, f"clients of {', '.join(known)} are installed")
        return
    extras = ",".join(each.extra for each in missing)
    yield Finding(
        "queue",
        OK,
        f"endpoints of kind queue cannot publish to {', '.join(each.name for each in missing)} from here",
        f"if you need them: pip install 'mainspring[{extras}]'",
    )


def _kinds() -> Iterator[Finding]:
    """Kinds of endpoints that other packages add."""
    from mainspring.domain.kinds.registry import INSTALLED

    for fault in INSTALLED.faults:
        yield Finding("kinds", WARNING, fault, "update or remove the package; its endpoints are blocked until then")
    if names := [plugin.kind.name for plugin in INSTALLED.plugins]:
        yield Finding("kinds", OK, f"installed packages add {', '.join(names)}")


def _program() -> Iterator[Finding]:
    import zoneinfo

    yield Finding("program", OK, f"mainspring {__version__}")
    yield Finding("time zones", OK, f"tzdata {_tzdata_version()}, {len(zoneinfo.available_timezones())} zones")


def _tzdata_version() -> str:
    """The version of the time zones in use: the system's come first, the package's fill the gaps."""
    import importlib.metadata
    import zoneinfo

    for folder in zoneinfo.TZPATH:
        for name, prefix in (("tzdata.zi", "# version "), ("+VERSION", "")):
            path = Path(folder) / name
            if path.is_file():
                with path.open(encoding="utf-8", errors="replace") as file:
                    return f"{file.readline().strip().removeprefix(prefix)} of the system ({folder})"
        if (Path(folder) / "UTC").is_file():
            return f"of the system ({folder}), version unknown"
    return f"{importlib.metadata.version('tzdata')} of the package"


def _data_dir(settings: "Settings") -> Iterator[Finding]:
    """The directory of the SQLite file and of the key; unused with PostgreSQL and a key in the environment."""
    is_sqlite = settings.url.startswith("sqlite://")
    database = Path(settings.url.removeprefix("sqlite://")) if is_sqlite and ":memory:" not in settings.url else None
    folder = database.parent if database is not None else settings.data_dir
    if database is None and settings.secret_key:
        return
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        yield Finding(
            "data folder",
            ERROR,
            f"{folder} cannot be written",
            "make it writable, or set MAINSPRING_DATA_DIR to another",
        )
        return
    kind = file_system_of(there)
    if database is not None and kind in NETWORK_FILE_SYSTEMS:
        yield Finding(
            "data folder",
            ERROR,
            f"{folder} is on a network file system ({kind}), where SQLite's locks do not hold",
            "move MAINSPRING_DATA_DIR to a local disk, or use PostgreSQL",
        )
        return
    free = os.statvfs(there).f_bavail * os.statvfs(there).f_frsize
    if free < DISK_BYTES_MIN:
        yield Finding(
            "data folder", WARNING, f"{folder} has {free // 1_000_000:,} MB left", "free some space before it is full"
        )
        return
    yield Finding("data folder", OK, f"{folder} is writable" + (f", on {kind}" if kind else ""))


def file_system_of(path: Path, mounts: str = "/proc/self/mounts") -> str:
    """The kind of file system of a path; empty if unknown."""
    try:
        lines = Path(mounts).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    real = path.resolve()
    best, kind = -1, ""
    for line in lines:
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        mount = Path(parts[1].replace("\\040", " "))
        if (real == mount or mount in real.parents) and len(mount.parts) >= best:
            best, kind = len(mount.parts), parts[2]
    return kind


async def _database(settings: "Settings", create: bool = False) -> list[Finding]:
    from mainspring.cli.doctor_checks import check_clock, check_replication, check_use
    from mainspring.wiring.stores import open_stores

    shown = masked(settings.url)
    try:
        async with open_stores(settings.url, pool_size=2, behind_bouncer=settings.pgbouncer, create=create) as stores:
            facts = await stores.upkeep.facts()
            applied = f", {len(facts.migrated)} applied just now" if facts.migrated else ""
            return [
                Finding("database", OK, f"{shown} answers: {facts.kind} {facts.version}"),
                Finding("schema", OK, f"version {facts.schema}, the newest{applied}"),
                *_policies(facts),
                *check_replication(await stores.upkeep.replication()),
                *await _clock(stores, facts.kind),
                *await check_clock(stores),
                *await _key(stores, settings),
                *await _tenant(stores, settings),
                *await _workers(stores, settings, facts.kind),
                *await _backlog(stores, settings),
                *await _blocked(stores, settings),
                *await check_use(stores, settings),
            ]
    except NoDatabase as fault:
        return [Finding("database", OK, str(fault)), *await _without_database(settings)]
    except Misconfigured as fault:
        return [Finding("database", ERROR, f"{shown}: {fault}")]
    except MainspringError as fault:
        way_out = "start it, or set MAINSPRING_DATABASE_URL to one that runs"
        return [Finding("database", ERROR, f"{shown}: {fault}", way_out)]
    except OSError as fault:
        way_out = "make it readable and writable, or set MAINSPRING_DATA_DIR to another folder"
        return [Finding("database", ERROR, f"{shown}: {fault}", way_out)]


async def _without_database(settings: "Settings") -> list[Finding]:
    """The other findings, judged with an empty database: `doctor` creates none."""
    with empty_database(settings) as empty:
        findings = await _database(empty.model_copy(update={"secret_key": settings.secret_key}), create=True)
    return [each for each in findings if each.check not in ("database", "schema")]


def _policies(facts: "StoreFacts") -> Iterator[Finding]:
    if facts.above_policies:
        message = "row-level security does not apply to this database user: it is a superuser, or has BYPASSRLS"
        yield Finding("tenants", WARNING, message, "connect as a regular user that owns the database and its tables")
    elif facts.kind == "postgresql":
        could = "; this user owns the tables and could switch it off" if facts.owns_tables else ""
        yield Finding("tenants", OK, f"also isolated by row-level security{could}")


async def _clock(stores: "Stores", kind: str) -> list[Finding]:
    from mainspring.wiring.clock import SystemClock

    if kind == "sqlite":
        return [Finding("clock", OK, f"{clock(await stores.schedule.now())}; SQLite uses this machine's clock")]
    here = SystemClock()
    before = here.now()
    there = await stores.schedule.now()
    after = here.now()
    return [skew(there - (before + (after - before) / 2))]


def skew(distance: timedelta) -> Finding:
    """How far the database clock is from this machine's. Only the database clock decides what is due."""
    ms = distance / timedelta(milliseconds=1)
    message = f"the database clock is {abs(ms):,.0f} ms {'ahead of' if ms > 0 else 'behind'} this machine's"
    way_out = "synchronise both machines by NTP"
    if abs(distance) > SKEW_ERROR:
        return Finding("clock", ERROR, message, way_out)
    if abs(distance) > SKEW_WARNING:
        return Finding("clock", WARNING, message, way_out)
    return Finding("clock", OK, message)


async def _key(stores: "Stores", settings: "Settings") -> list[Finding]:
    from mainspring.operations.secret_rotation import SECRET_KEY_ID, count_sealed
    from mainspring.wiring.desk import open_keys

    where = "MAINSPRING_SECRET_KEY" if settings.secret_key else str(settings.key_file)
    way_out = "restore the key that this database was created with; without it no secret header can be read"
    is_prepared = await stores.endpoints.tenant(settings.tenant) is not None
    if not settings.secret_key and not settings.key_file.exists():
        if is_prepared:
            return [Finding("secret key", ERROR, f"the key file {where} does not exist", way_out)]
        return [Finding("secret key", OK, f"{where} will be created at the first start")]
    try:
        ring = open_keys(settings)
    except Misconfigured as fault:
        return [Finding("secret key", ERROR, str(fault))]
    if not is_prepared:
        return [Finding("secret key", OK, f"{where} holds key {ring.primary_id}")]
    sealed_with = await stores.upkeep.installation(SECRET_KEY_ID, ring.primary_id)
    held = " and ".join(ring.ciphers)
    if sealed_with not in ring.ciphers:
        message = f"the key in {where} is {held}, but the secrets of this database are encrypted with {sealed_with}"
        return [Finding("secret key", ERROR, message, way_out)]
    counted = await count_sealed(stores)
    if missing := sorted(each for each in counted if each not in ring.ciphers):
        message = f"{sum(counted[each] for each in missing):,} values are encrypted with key {' and '.join(missing)}, "
        way_out = f"add that key to {where} and run: mainspring secret-key rotate; or set those secrets again"
        return [Finding("secret key", ERROR, f"{message}which is not in {where}", way_out)]
    if len(ring.ciphers) > 1:
        message = f"{where} holds {len(ring.ciphers)} keys, {held}: a key rotation is not finished"
        return [Finding("secret key", WARNING, message, "finish it: mainspring secret-key rotate")]
    return [Finding("secret key", OK, f"{where} holds key {held}, the right one")]


async def _tenant(stores: "Stores", settings: "Settings") -> list[Finding]:
    from mainspring.wiring.desk import has_tenant

    try:
        await has_tenant(stores, settings.tenant)
    except Misconfigured as fault:
        return [Finding("tenant", ERROR, str(fault))]
    return []


async def _workers(stores: "Stores", settings: "Settings", kind: str) -> list[Finding]:
    alive = await live_schedulers(stores)
    if not alive:
        way_out = "start one: mainspring serve"
        return [Finding("schedulers", WARNING, "no scheduler is running, so nothing runs", way_out)]
    names = ", ".join(row.id for row in alive)
    if kind == "sqlite" and len(alive) > 1:
        return [
            Finding(
                "schedulers",
                WARNING,
                f"{len(alive)} schedulers share one SQLite file: {names}",
                "stop all but one, or set MAINSPRING_DATABASE_URL to a PostgreSQL database",
            )
        ]
    short = [row for row in alive if row.places < settings.concurrency]
    if short:
        message = (
            f"{short[0].id} has {short[0].places:,} places, fewer than MAINSPRING_CONCURRENCY={settings.concurrency}"
        )
        needed = files_for(settings.concurrency)
        way_out = f"let that process open {needed:,} files (ulimit -n, LimitNOFILE), or set the same value for all"
        return [Finding("schedulers", WARNING, message, way_out)]
    places = sum(row.places for row in alive)
    return [Finding("schedulers", OK, f"{len(alive)} alive with {places:,} places: {names}")]


async def _backlog(stores: "Stores", settings: "Settings") -> list[Finding]:
    from mainspring.domain.schedule.queue import waits

    late_ms = settings.late_after // timedelta(milliseconds=1)
    backlog = await stores.upkeep.backlog(late_ms)
    if not backlog.due:
        return [Finding("backlog", OK, f"nothing is late, {backlog.running} running")]
    oldest = backlog.oldest_due_at
    since = f", the oldest {relative(backlog.now, oldest)}" if isinstance(oldest, datetime) else ""
    many = f"{backlog.due:,} endpoint{'' if backlog.due == 1 else 's'} due and not started{since}"
    queue = await stores.upkeep.queue(late_ms)
    found = [
        Finding(
            "waiting",
            ERROR,
            f"{wait.waiting:,} {'waits' if wait.waiting == 1 else 'wait'} {awaited(wait)}; "
            f"the oldest was due {relative(queue.now, wait.since)}",
            wait_advice(wait),
        )
        for wait in waits(queue)[:WAITS_SHOWN]
    ]
    way_out = "see what they wait for below" if found else "run doctor again: nothing blocks them, so they start now"
    return [Finding("backlog", ERROR, f"{many}; {backlog.running} running", way_out), *found]


async def _blocked(stores: "Stores", settings: "Settings") -> list[Finding]:
    """Calls that were blocked because of their address: most often a network that is not allowed yet."""
    from mainspring.ports.records import RunFilter

    runs = await stores.runs.runs(settings.tenant, RunFilter(status="blocked", limit=BLOCKED_LOOKED_AT))
    refused = [run for run in runs if run.error_code == "blocked_address"]
    allowed = ",".join(map(str, settings.allow_cidrs)) or "no private network"
    if not refused:
        return [Finding("networks", OK, f"with the settings here, endpoints may call public addresses and {allowed}")]
    endpoint = await stores.endpoints.endpoint(settings.tenant, refused[0].endpoint_id)
    name = endpoint.name if endpoint is not None else refused[0].endpoint_id
    return [
        Finding(
            "networks",
            WARNING,
            f"calls are being blocked, last {name!r}: {refused[0].error}",
            "to call this private network, set MAINSPRING_ALLOW_CIDRS where the scheduler "
            f"runs (now: {allowed}); addresses that are never called need another url",
        )
    ]
