"""Read a PostgreSQL URL as libpq does, so that the driver and the tools of PostgreSQL connect to the same servers.

    postgresql://user:password@h1:5432,h2:5433/name?sslmode=verify-full
    postgresql:///name?host=/run/postgresql,10.0.0.7&port=5432,5433
    postgresql:///?service=mainspring

A parameter that the driver would not obey is refused: a URL must not be less strict here than it reads. A message never
repeats a part of a URL that could belong to a password.
"""

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from mainspring.domain.errors import Misconfigured

PORT = 5432
SETTING = "MAINSPRING_DATABASE_URL"
PLACE = frozenset({"host", "port", "dbname", "user", "password", "service"})
FILES = frozenset({"passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl"})
# What both the driver and libpq obey.
OBEYED = FILES | {
    "gsslib",
    "krbsrvname",
    "options",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslmode",
    "sslnegotiation",
    "target_session_attrs",
}
# Parameters that Mainspring sets itself, and those without effect on our connections.
IGNORED = frozenset(
    {
        "application_name",
        "client_encoding",
        "connect_timeout",
        "fallback_application_name",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "sslcompression",
        "sslsni",
        "tcp_user_timeout",
    }
)
# Without effect unless they have another value than these.
HARMLESS = {
    "channel_binding": ("disable", "prefer"),
    "gssencmode": ("disable", "prefer"),
    "load_balance_hosts": ("disable",),
    "sslcertmode": ("allow",),
}
WAYS_OUT = {
    "channel_binding": "remove it, and use sslmode=verify-full",
    "gssencmode": "remove it, and encrypt with sslmode",
    "hostaddr": "give the address as host",
    "load_balance_hosts": "remove it: all connections go to the one primary",
    "replication": "remove it",
    "require_auth": "remove it, and let pg_hba.conf of the server decide",
    "requirepeer": "remove it, and restrict who may write into the folder of the socket",
    "sslcertmode": "remove it",
    "sslcrldir": "give one file as sslcrl",
    "sslpassword": "use a key without a passphrase that only this user can read",
}
MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
SESSIONS = ("any", "primary", "read-write")


@dataclass(frozen=True, slots=True)
class ConnectionUrl:
    """`hosts` are names, addresses or folders of sockets, each with its port; none: the driver's defaults."""

    hosts: tuple[tuple[str, int], ...]
    user: str = ""
    password: str | None = field(default=None, repr=False)
    database: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, url: str, environment: Mapping[str, str] = os.environ) -> "ConnectionUrl":
        """Raises Misconfigured if the URL cannot be read or asks for what the driver does not do."""
        try:
            parts = urlsplit(url)
            given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
            service = given.pop("service", environment.get("PGSERVICE", ""))
            parameters = (_service(service, environment) if service else {}) | given
            authority, _, place = parts.netloc.rpartition("@")
            user, _, password = authority.partition(":")
            named = [spec for spec in place.split(",") if spec] if place else []
            hosts = _parted(named) if named else _listed(parameters, environment)
        except ValueError:
            raise Misconfigured(
                "the URL cannot be read; write postgresql://user:password@host:port/name, with special characters "
                "percent-encoded (@ is %40, / is %2F, , is %2C)",
                setting=SETTING,
            ) from None
        secret = unquote(password) or parameters.get("password") or None
        name = unquote(parts.path.removeprefix("/")) or parameters.get("dbname", "")
        kept = {key: value for key, value in parameters.items() if key not in PLACE and value}
        _check(kept)
        return cls(tuple(hosts), unquote(user) or parameters.get("user", ""), secret, name, kept)

    @property
    def networked(self) -> list[tuple[str, int]]:
        """The hosts that are reached by the network."""
        return [(host, port) for host, port in self.hosts if not host.startswith("/")]

    def each(self) -> list[str]:
        """One URL for each host, as the driver reads it; asks for `read-write` unless the URL says otherwise."""
        obeyed = {"target_session_attrs": "read-write"} | {
            key: value for key, value in self.parameters.items() if key in OBEYED
        }
        if not self.hosts:
            return [self._write(obeyed, self.password)]
        bracketed = [(f"[{host}]" if ":" in host else host, port) for host, port in self.hosts]
        return [self._write({"host": host, "port": str(port)} | obeyed, self.password) for host, port in bracketed]

    def for_tools(self, options: str) -> tuple[str, dict[str, str]]:
        """A URL for pg_dump and similar tools without secrets, and the environment with the secrets.

        `options` are added to those of the URL, which they would otherwise replace.
        """
        place = {}
        if self.hosts:
            place = {"host": ",".join(host for host, _ in self.hosts), "port": ",".join(str(p) for _, p in self.hosts)}
        asked = {"target_session_attrs": "read-write"} | dict(self.parameters)
        asked["options"] = f"{asked.get('options', '')} {options}".strip()
        environment = {} if self.password is None else {"PGPASSWORD": self.password}
        return self._write(place | asked, None), environment

    def _write(self, parameters: Mapping[str, str], password: str | None) -> str:
        secret = f":{quote(password, safe='')}" if password else ""
        user = f"{quote(self.user, safe='')}{secret}@" if self.user or secret else ""
        query = urlencode(parameters, quote_via=quote, safe="")
        return f"postgresql://{user}/{quote(self.database, safe='')}?{query}"


def _parted(specs: list[str]) -> list[tuple[str, int]]:
    """`host:port`, `[v6]:port`, or either without a port."""
    found = []
    for spec in specs:
        if spec.startswith("["):
            host, _, rest = spec[1:].partition("]")
            port = rest.removeprefix(":")
        else:
            host, _, port = spec.partition(":")
        found.append((unquote(host), int(unquote(port) or PORT)))
    return found


def _listed(parameters: Mapping[str, str], environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """Hosts and ports as separate lists: one port for all hosts, or one for each."""
    hosts = [each for each in (parameters.get("host") or environment.get("PGHOST", "")).split(",") if each]
    ports = [
        int(each or PORT) for each in (parameters.get("port") or environment.get("PGPORT") or str(PORT)).split(",")
    ]
    if len(ports) > 1 and len(ports) != len(hosts):
        raise Misconfigured(
            f"{len(ports)} ports for {len(hosts)} hosts; give one port, or one for each host", setting=SETTING
        )
    return list(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False))


def _service(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a service, from the user's file or the system's."""
    own = environment.get("PGSERVICEFILE") or Path(environment.get("HOME", "/")) / ".pg_service.conf"
    files = [Path(own), Path(environment.get("PGSYSCONFDIR", "/etc/postgresql-common")) / "pg_service.conf"]
    for file in files:
        reader = configparser.ConfigParser(interpolation=None, default_section="")
        try:
            reader.read(file)
        except configparser.Error as fault:
            raise Misconfigured(f"{file} cannot be read as a file of services; correct it", setting=SETTING) from fault
        if reader.has_section(name):
            return dict(reader[name])
    raise Misconfigured(
        f"service {name!r} of the URL is in none of {', '.join(map(str, files))}; add it, or set PGSERVICEFILE",
        setting=SETTING,
    )


def _check(parameters: Mapping[str, str]) -> None:
    for name, value in parameters.items():
        if name in WAYS_OUT and value not in HARMLESS.get(name, ()):
            raise Misconfigured(f"parameter {name} of the URL is not supported; {WAYS_OUT[name]}", setting=SETTING)
        if name not in OBEYED | IGNORED | HARMLESS.keys():
            raise _unknown(name)
        if name in FILES:
            _check_file(name, value)
    for name, allowed in (("sslmode", MODES), ("target_session_attrs", SESSIONS)):
        if parameters.get(name, allowed[0]) not in allowed:
            raise Misconfigured(
                f"parameter {name} of the URL has an unusable value; use one of {', '.join(allowed)}", setting=SETTING
            )


def _unknown(name: str) -> Misconfigured:
    close = get_close_matches(name, [*PLACE, *OBEYED, *IGNORED], 1)
    guess = f"{name} is not known; did you mean {close[0]}?" if close else "it is not known"
    return Misconfigured(
        f"a parameter of the URL cannot be used: {guess} Settings of the server go into options, as in "
        "?options=-c%20search_path%3Dmainspring, and special characters of a password are percent-encoded",
        setting=SETTING,
    )


def _check_file(name: str, path: str) -> None:
    if not os.access(path, os.R_OK) or not Path(path).is_file():
        way_out = "give the file with the certificates" if path == "system" else "correct the path or its permissions"
        raise Misconfigured(f"{name} of the URL, {path}, is not a file that can be read; {way_out}", setting=SETTING)
    if name == "passfile" and os.stat(path).st_mode & 0o077:
        raise Misconfigured(f"passfile {path} can be read by other users; chmod 600 it", setting=SETTING)
