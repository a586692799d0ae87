"""Define every setting with its default and description. Environment variables `MAINSPRING_*` set them.

`load_settings` reads the environment. Durations are written as `30s`, `5m`, `1h30m`. An unknown MAINSPRING_ variable is
refused with the nearest known name: a setting must never be ignored silently.
"""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput, Misconfigured, did_you_mean
from mainspring.domain.kinds.command_policy import NO_COMMANDS, CommandPolicy, parse_commands
from mainspring.domain.schedule import fairness
from mainspring.domain.schedule.host_limit import HostLimits, parse_host_limits
from mainspring.domain.validation_message import validation_message

PREFIX = "MAINSPRING_"
WITH_PASSWORDS = ("MAINSPRING_PROXIES",)  # no message contains their value
OURS_BUT_NOT_SETTINGS = (
    "MAINSPRING_FAILPOINTS",
    "MAINSPRING_SERVER",
    "MAINSPRING_API_KEY",
    "MAINSPRING_PING_URL",
    "MAINSPRING_SLOT",  # these two are given to programs of kind `command`, which may call Mainspring
    "MAINSPRING_ATTEMPT",
)


def _duration(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    try:
        return timedelta(milliseconds=parse_duration_ms(value, field="duration"))
    except InvalidInput as fault:
        raise ValueError(str(fault).removeprefix("duration ")) from fault  # the caller adds the name of the setting


def _networks(value: object) -> object:
    return tuple(_network(part) for part in _parts(value)) if isinstance(value, str) else value


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError:
        pass
    try:
        meant = ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is not a network; write networks like 127.0.0.0/8,10.1.0.0/16") from None
    width = meant.max_prefixlen
    raise ValueError(
        f"{text!r} is an address inside the network {meant}; write the network, or /{width} for this address alone"
    )


def _ports(value: object) -> object:
    return frozenset(_numbers(value, "443,8443")) if isinstance(value, str) else value


def _names(value: object) -> object:
    return tuple(_parts(value)) if isinstance(value, str) else value


def _partitions(value: object) -> object:
    return tuple(_numbers(value, "0,2")) if isinstance(value, str) else value


def _numbers(text: str, example: str) -> list[int]:
    for part in _parts(text):
        if not (part.isascii() and part.isdigit()):
            raise ValueError(f"{part!r} is not a whole number; write numbers like {example}")
    return [int(part) for part in _parts(text)]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _host_limits(value: object) -> object:
    return parse_host_limits(value) if isinstance(value, str) else value


def _proxies(value: object) -> object:
    return tuple(_proxy(part) for part in _parts(value)) if isinstance(value, str) else value


def _proxy(text: str) -> str:
    name, mark, url = text.partition("=")
    if not mark or not re.fullmatch(r"\s*[A-Za-z0-9._-]{1,100}\s*", name) or not _is_proxy_url(url.strip()):
        raise ValueError(
            f"proxy {name.strip()[:100]!r} is not given as NAME=http://host:port or NAME=socks5://host:port; "
            "percent-encode commas in a password"
        )
    return f"{name.strip()}={url.strip()}"


def _is_proxy_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "socks5") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _commands(value: object) -> object:
    return parse_commands(value) if isinstance(value, str) else value


def _public_url(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(r"(https?://[^/?#\s]+/?)?", value):
        raise ValueError("not a valid server URL; include scheme and host, like https://mainspring.example.com")
    return value


Partitions = Annotated[tuple[int, ...], BeforeValidator(_partitions)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], BeforeValidator(_networks)]
Ports = Annotated[frozenset[int], BeforeValidator(_ports)]
Limits = Annotated[HostLimits, PlainValidator(_host_limits)]
Proxies = Annotated[tuple[str, ...], BeforeValidator(_proxies)]
Commands = Annotated[CommandPolicy, PlainValidator(_commands)]
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]


class Settings(BaseModel):  # instead of pydantic-settings' own: `load_settings` is 150 ms faster
    model_config = ConfigDict(extra="forbid", frozen=True)

    data_dir: Path = Field(
        default_factory=lambda: user_data_path("mainspring", appauthor=False),
        description="Directory of the SQLite file and the secret key file.",
    )
    database_url: str = Field(
        default="",
        description="`sqlite:///path/file.db`, or a PostgreSQL URL as in libpq: `postgresql://user@h1:5432,h2/name`. "
        "Default: a file in data_dir.",
    )
    database_pool: int = Field(
        default=8, ge=2, le=100, description="Size of the PostgreSQL connection pool of one process."
    )
    pgbouncer: bool = Field(
        default=False, description="Set if PostgreSQL is behind PgBouncer: no prepared statements, no LISTEN."
    )
    secret_key: str = Field(
        default="",
        description="Encryption key for stored secrets, 32 bytes in base64. With several keys, separated by commas, "
        "the first encrypts and all of them decrypt. Default: secret_key_file.",
    )
    secret_key_file: Path | None = Field(
        default=None,
        description="File with the encryption key, or with several, one per line. Default: `secret.key` in data_dir, "
        "created at the first start.",
    )
    tenant: str = Field(
        default="default",
        min_length=1,
        max_length=100,
        description="Tenant that the command line works on. `tenant create` creates tenants other than `default`.",
    )
    allow_cidrs: Networks = Field(
        default=(), description="Private networks that endpoints may call, e.g. `127.0.0.0/8,10.1.0.0/16`."
    )
    allow_ports: Ports = Field(default=frozenset(), description="Ports that endpoints may call beyond the defaults.")
    proxies: Proxies = Field(
        default=(),
        description="Proxies that connections may use, by name: `corp=http://user:password@proxy.example.com:3128, "
        "egress=socks5://10.0.0.9:1080`. Default: none.",
    )
    commands: Commands = Field(
        default=NO_COMMANDS,
        description="Programs that endpoints of kind `command` may run, and who may run them. "
        "`/usr/local/bin/backup = default, folder /srv/backup, user backup, env BACKUP_*; /opt/jobs/* = acme` "
        "allows one program to one tenant, and every program of a folder to another; `*` means every tenant. "
        "Empty: none.",
    )
    concurrency: int = Field(
        default=fairness.PLACES, ge=1, le=10_000, description="Maximum concurrent runs of one scheduler (its places)."
    )
    concurrency_per_tenant: int = Field(
        default=fairness.PER_TENANT, ge=1, description="Maximum concurrent runs of one tenant, across all schedulers."
    )
    concurrency_per_host: int = Field(
        default=fairness.PER_HOST,
        ge=1,
        description="Maximum concurrent runs against one host and port, across all schedulers.",
    )
    host_limits: Limits = Field(
        default=(),
        description="Limits for particular hosts, across all schedulers. `*.example.com = 20, 5/s, burst 10; "
        "api.example.org:443 = 8` allows 20 concurrent runs and 5 starts per second with bursts of 10, and 8 "
        "concurrent runs. The first matching pattern applies, to each host and port separately; rates are per "
        "`s`, `m` or `h`.",
    )
    lease_margin: Duration = Field(
        default=timedelta(seconds=30),
        description="Time after its deadline at which a run or a workflow effect is considered lost.",
    )
    shutdown_grace: Duration = Field(
        default=timedelta(seconds=10), description="How long SIGTERM waits for runs in flight."
    )
    late_after: Duration = Field(
        default=timedelta(seconds=5), description="Time after which the watchdog reports an endpoint as late."
    )
    zombie_after: Duration = Field(
        default=timedelta(minutes=5),
        description="Time after its lease at which an unfinished run is closed as a timeout.",
    )
    keep_runs: Duration = Field(default=timedelta(days=30), description="Retention of runs.")
    keep_bodies: Duration = Field(default=timedelta(days=7), description="Retention of response bodies.")
    keep_events: Duration = Field(default=timedelta(days=30), description="Retention of events.")
    keep_done: Duration = Field(
        default=timedelta(days=30), description="Retention of endpoints with a single run, after that run."
    )
    keep_runs_per_endpoint: int = Field(default=10_000, ge=1, description="Maximum number of runs kept per endpoint.")
    archive: Path | None = Field(
        default=None,
        description="Folder for Parquet files with the runs and events of past days; they are written before retention "
        "removes them. Needs the extra `archive`.",
    )
    workflow_partitions: int = Field(
        default=1,
        ge=1,
        le=1_024,
        description="Number of partitions that executions are spread over, each with one writer.",
    )
    workflow_partitions_owned: Partitions = Field(
        default=(), description="Partitions that this process may write, e.g. `0,2`; default: all."
    )
    executions_per_tick: int = Field(
        default=500, ge=1, le=10_000, description="Maximum number of executions that one tick advances."
    )
    tick_interval: Duration = Field(
        default=timedelta(seconds=1), description="How often a ticker looks for ready executions."
    )
    ticker_lease: Duration = Field(
        default=timedelta(seconds=30), description="How long a lost ticker keeps its partitions."
    )
    workflow_lock: str = Field(
        default="database",
        description="Which tickers try to lead: `database`, or `redis://host:6379/0` (a Redis or Valkey, which saves "
        "attempts; the database still decides).",
    )
    keep_executions: Duration = Field(
        default=timedelta(days=365),
        description="Retention of ended executions and of the ticks that contain them.",
    )
    model: str = Field(
        default="",
        description="Language model that advises: `openai:NAME`, `anthropic:NAME` or `google:NAME`; empty: rules only.",
    )
    model_url: str = Field(
        default="",
        description="Base URL of the model server, e.g. `http://127.0.0.1:11434/v1`; default: the provider's.",
    )
    model_key: str = Field(default="", description="API key of the model server.")
    model_session_tokens: int = Field(default=50_000, ge=1_000, description="Maximum tokens of one model session.")
    model_session_timeout: Duration = Field(
        default=timedelta(seconds=60), description="Maximum duration of one model session."
    )
    model_sessions_per_hour: int = Field(default=12, ge=1, description="Maximum model sessions per endpoint and hour.")
    model_price_in: float = Field(
        default=0.0, ge=0, description="Dollars per million input tokens, for cost estimates."
    )
    model_price_out: float = Field(
        default=0.0, ge=0, description="Dollars per million output tokens, for cost estimates."
    )
    host: str = Field(default="127.0.0.1", description="Address that `serve` listens on.")
    port: int = Field(default=8080, ge=0, le=65_535, description="Port that `serve` listens on; 0 picks a free one.")
    public_url: Annotated[str, BeforeValidator(_public_url)] = Field(
        default="",
        description="Public URL of this server, e.g. `https://mainspring.example.com`; used in links, cookies and "
        "callbacks.",
    )
    oidc_issuer: str = Field(default="", description="OIDC issuer for single sign-on, e.g. `https://id.example.com`.")
    oidc_client_id: str = Field(default="", description="OIDC client ID.")
    oidc_client_secret: str = Field(default="", description="OIDC client secret.")
    oidc_role: Literal["", "viewer", "operator", "owner"] = Field(
        default="",
        description="Role for users created at first single sign-on; empty refuses them.",
    )
    trusted_proxies: Names = Field(
        default=(),
        description="Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; empty: "
        "the address of the connection is used.",
    )
    allowed_hosts: Names = Field(
        default=(),
        description="Host names that `serve` accepts besides IP addresses and names without a dot, e.g. "
        "`spring.example.com,*.example.org`; `*` accepts any.",
    )
    api_requests_per_minute: int = Field(
        default=1_200,
        ge=0,
        description="Maximum requests per minute of one API key or user to one process; 0 disables the limit.",
    )
    api_requests_per_minute_of_tenant: int = Field(
        default=6_000,
        ge=0,
        description="Maximum requests per minute of one tenant to one process; 0 disables the limit.",
    )
    smtp_url: str = Field(
        default="", description="SMTP server for email: `smtp://user:password@host:587` or `smtps://host:465`."
    )
    mail_from: str = Field(default="mainspring@localhost", description="Sender address of email.")
    allow_apprise: bool = Field(
        default=False, description="Allow alerts through apprise, which bypasses the address guard."
    )
    config_dir: Path | None = Field(
        default=None, description="Directory of documents that `serve` applies at startup and when they change."
    )
    config_prune: bool = Field(
        default=False, description="Archive what the documents in config_dir no longer describe."
    )
    log_format: Literal["auto", "json", "console"] = Field(
        default="auto", description="Log lines as JSON or for people; auto: JSON unless on a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Minimum log level.")

    @property
    def url(self) -> str:
        return self.database_url or f"sqlite://{self.data_dir / 'mainspring.db'}"

    @property
    def proxy_urls(self) -> dict[str, str]:
        """The URLs of proxies by name."""
        return {name: url for name, _, url in (each.partition("=") for each in self.proxies)}

    @property
    def site(self) -> str:
        """The URL of the web UI, derived from the settings alone."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url.rstrip("/") or f"http://{host}:{self.port}"

    @property
    def callback_site(self) -> str:
        """Where callbacks reach this installation; "" if the settings do not say: any address, or any free port."""
        is_definite = self.host not in ("", "0.0.0.0", "::") and self.port > 0
        return self.site if self.public_url or is_definite else ""

    @property
    def key_file(self) -> Path:
        return self.secret_key_file or self.data_dir / "secret.key"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Reads the settings from the environment. Misconfigured names the variable, the rule and the fix."""
    given = {
        name: value
        for name, value in (os.environ if environment is None else environment).items()
        if name.startswith(PREFIX)
    }
    known = tuple(f"{PREFIX}{name.upper()}" for name in Settings.model_fields)
    for name in given:
        if name not in known and name not in OURS_BUT_NOT_SETTINGS:
            raise Misconfigured(
                f"unknown setting {name}{did_you_mean(name, known) or ';'} unset it: `mainspring settings` lists "
                "all settings",
                setting=name,
            )
    values = {name[len(PREFIX) :].lower(): value for name, value in given.items() if name in known}
    try:
        return Settings(**values)  # type: ignore[arg-type]  # pydantic parses the text
    except ValidationError as fault:
        first = fault.errors()[0]
        name, value = PREFIX + str(first["loc"][0]).upper(), values.get(str(first["loc"][0]), "")
        rule = validation_message(first["type"], first["msg"], first.get("ctx", {}), value)
        colon = ":" if first["type"] == "value_error" else ""
        given_as = name if name in WITH_PASSWORDS else f"{name}={value!r}"
        raise Misconfigured(f"{given_as}{colon} {rule}", setting=name) from None
