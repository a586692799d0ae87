"""Every setting, its default and its meaning, in one place. Environment variables `MAINSPRING_*` set them.

Durations are written as `30s`, `5m`, `1h30m`. An unknown MAINSPRING_ variable is refused with the nearest known name:
a setting that is silently ignored is worse than one that does not exist.
"""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal

from platformdirs import user_data_path
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput, Misconfigured, did_you_mean
from mainspring.domain.schedule import fairness
from mainspring.domain.schedule.host_limit import HostLimits, parse_host_limits
from mainspring.domain.validation_message import validation_message

PREFIX = "MAINSPRING_"
OURS_BUT_NOT_SETTINGS = ("MAINSPRING_FAILPOINTS", "MAINSPRING_SERVER", "MAINSPRING_API_KEY")


def _duration(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    try:
        return timedelta(milliseconds=parse_duration_ms(value, field="duration"))
    except InvalidInput as fault:
        raise ValueError(str(fault).removeprefix("duration ")) from fault  # the setting is told before it


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
        raise ValueError(f"{text!r} is no network; write them like 127.0.0.0/8,10.1.0.0/16") from None
    width = meant.max_prefixlen
    raise ValueError(f"{text!r} is an address within the network {meant}; write that, or /{width} for it alone")


def _ports(value: object) -> object:
    return frozenset(_numbers(value, "443,8443")) if isinstance(value, str) else value


def _names(value: object) -> object:
    return tuple(_parts(value)) if isinstance(value, str) else value


def _partitions(value: object) -> object:
    return tuple(_numbers(value, "0,2")) if isinstance(value, str) else value


def _numbers(text: str, example: str) -> list[int]:
    for part in _parts(text):
        if not (part.isascii() and part.isdigit()):
            raise ValueError(f"{part!r} is not a whole number; write them like {example}")
    return [int(part) for part in _parts(text)]


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _host_limits(value: object) -> object:
    return parse_host_limits(value) if isinstance(value, str) else value


def _public_url(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(r"(https?://[^/?#\s]+/?)?", value):
        raise ValueError("that is no address of a server; write scheme and host, like https://mainspring.example.com")
    return value


Partitions = Annotated[tuple[int, ...], BeforeValidator(_partitions)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], BeforeValidator(_networks)]
Ports = Annotated[frozenset[int], BeforeValidator(_ports)]
Limits = Annotated[HostLimits, PlainValidator(_host_limits)]
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]


class Settings(BaseModel):  # not pydantic-settings' own: `load_settings` reads the environment, 150 ms sooner
    model_config = ConfigDict(extra="forbid", frozen=True)

    data_dir: Path = Field(
        default_factory=lambda: user_data_path("mainspring", appauthor=False),
        description="Folder of the SQLite file and the secret key file.",
    )
    database_url: str = Field(
        default="",
        description="`sqlite:///path/file.db` or `postgresql://user@host/name`; several hosts: `h1:5432,h2:5432`. "
        "Default: a file in data_dir.",
    )
    database_pool: int = Field(default=8, ge=2, le=100, description="PostgreSQL connections of one process.")
    pgbouncer: bool = Field(
        default=False, description="Set when PostgreSQL is behind PgBouncer: no prepared statements, no LISTEN."
    )
    secret_key: str = Field(
        default="",
        description="32 bytes in base64 that secrets are sealed with; several with commas between: the first seals, "
        "all of them open. Default: secret_key_file.",
    )
    secret_key_file: Path | None = Field(
        default=None,
        description="File with that key, or with several, one on a line; default: `secret.key` in data_dir, made at "
        "the first start.",
    )
    tenant: str = Field(
        default="default",
        min_length=1,
        max_length=100,
        description="The tenant that the command line works for; any but `default` is made by `tenant create`.",
    )
    allow_cidrs: Networks = Field(
        default=(), description="Private networks that endpoints may call, e.g. `127.0.0.0/8,10.1.0.0/16`."
    )
    allow_ports: Ports = Field(
        default=frozenset(), description="Ports that endpoints may call although refused by default."
    )
    concurrency: int = Field(
        default=fairness.PLACES, ge=1, le=10_000, description="Runs one scheduler may have in flight (its places)."
    )
    concurrency_per_tenant: int = Field(
        default=fairness.PER_TENANT, ge=1, description="Runs in flight for one tenant, over all schedulers."
    )
    concurrency_per_host: int = Field(
        default=fairness.PER_HOST, ge=1, description="Runs in flight against one host and port, over all schedulers."
    )
    host_limits: Limits = Field(
        default=(),
        description="Other limits for some hosts, over all schedulers: `*.example.com = 20, 5/s, burst 10; "
        "api.example.org:443 = 8` is 20 runs at once and 5 starts a second after up to 10 at once, and 8 runs at once. "
        "The first pattern that matches counts, for each host and port on its own; rates are per `s`, `m` or `h`.",
    )
    lease_margin: Duration = Field(
        default=timedelta(seconds=30),
        description="How long after its deadline a run, or an effect of a workflow, is given up for lost.",
    )
    shutdown_grace: Duration = Field(
        default=timedelta(seconds=10), description="How long SIGTERM waits for runs in flight."
    )
    late_after: Duration = Field(
        default=timedelta(seconds=5), description="From when on the watchdog calls an endpoint late."
    )
    zombie_after: Duration = Field(
        default=timedelta(minutes=5), description="How long after its lease an unfinished run is closed as timeout."
    )
    keep_runs: Duration = Field(default=timedelta(days=30), description="How long runs are kept.")
    keep_bodies: Duration = Field(default=timedelta(days=7), description="How long response bodies are kept.")
    keep_events: Duration = Field(default=timedelta(days=30), description="How long events are kept.")
    keep_runs_per_endpoint: int = Field(default=10_000, ge=1, description="How many runs of one endpoint are kept.")
    workflow_partitions: int = Field(
        default=1, ge=1, le=1_024, description="Parts that executions are spread over, each with one writer."
    )
    workflow_partitions_owned: Partitions = Field(
        default=(), description="Which of them this process may write, e.g. `0,2`; default: all."
    )
    executions_per_tick: int = Field(
        default=500, ge=1, le=10_000, description="Executions of workflows that one tick moves at most."
    )
    tick_interval: Duration = Field(
        default=timedelta(seconds=1), description="How often a ticker looks for executions that are ready."
    )
    ticker_lease: Duration = Field(
        default=timedelta(seconds=30), description="How long a ticker that was lost keeps its partitions."
    )
    workflow_lock: str = Field(
        default="database",
        description="Which tickers try to lead: `database`, or `redis://host:6379/0` (a Redis or Valkey, which saves "
        "attempts; the database decides all the same).",
    )
    keep_executions: Duration = Field(
        default=timedelta(days=365),
        description="How long executions are kept after they ended, and the ticks that hold them.",
    )
    model: str = Field(
        default="",
        description="Language model that advises: `openai:NAME`, `anthropic:NAME`, `google:NAME`; empty: rules alone.",
    )
    model_url: str = Field(
        default="", description="Base URL of its server, e.g. `http://127.0.0.1:11434/v1`; default: the provider's."
    )
    model_key: str = Field(default="", description="Key of its server.")
    model_session_tokens: int = Field(default=50_000, ge=1_000, description="Tokens that one session may use.")
    model_session_timeout: Duration = Field(default=timedelta(seconds=60), description="How long one session may take.")
    model_sessions_per_hour: int = Field(
        default=12, ge=1, description="Sessions that one endpoint may have in an hour, whatever the model asks for."
    )
    model_price_in: float = Field(default=0.0, ge=0, description="Dollars per million input tokens, for estimates.")
    model_price_out: float = Field(default=0.0, ge=0, description="Dollars per million output tokens, for estimates.")
    host: str = Field(default="127.0.0.1", description="Address that `serve` listens on.")
    port: int = Field(default=8080, ge=0, le=65_535, description="Port that `serve` listens on; 0 picks a free one.")
    public_url: Annotated[str, BeforeValidator(_public_url)] = Field(
        default="",
        description="Where people reach this server, e.g. `https://mainspring.example.com`; for links and cookies.",
    )
    oidc_issuer: str = Field(default="", description="OIDC issuer for single sign-on, e.g. `https://id.example.com`.")
    oidc_client_id: str = Field(default="", description="Our client id there.")
    oidc_client_secret: str = Field(default="", description="Our client secret there.")
    oidc_role: Literal["", "viewer", "operator", "owner"] = Field(
        default="",
        description="Role in the tenant of who comes from the issuer and is no user yet; none: refused.",
    )
    trusted_proxies: Names = Field(
        default=(),
        description="Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; "
        "none: every address is that of the connection.",
    )
    allowed_hosts: Names = Field(
        default=(),
        description="Names that `serve` answers to besides addresses and names without a dot, e.g. "
        "`spring.example.com,*.example.org`; `*` is any.",
    )
    api_requests_per_minute: int = Field(
        default=1_200,
        ge=0,
        description="Requests a minute that one API key or user may send to one process; 0 is no limit.",
    )
    api_requests_per_minute_of_tenant: int = Field(
        default=6_000, ge=0, description="Requests a minute that one tenant may send to one process; 0 is no limit."
    )
    smtp_url: str = Field(
        default="", description="Mail server for alerts: `smtp://user:password@host:587` or `smtps://host:465`."
    )
    mail_from: str = Field(default="mainspring@localhost", description="Sender of the mail that alerts send.")
    allow_apprise: bool = Field(
        default=False, description="Let alerts go through apprise, which the address guard does not hold back."
    )
    config_dir: Path | None = Field(
        default=None, description="Folder of documents that `serve` applies at its start and whenever they change."
    )
    config_prune: bool = Field(
        default=False, description="Whether what the documents of config_dir no longer describe is archived."
    )
    log_format: Literal["auto", "json", "console"] = Field(
        default="auto", description="Log lines as JSON, or for people; auto: JSON unless on a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least level that is logged."
    )

    @property
    def url(self) -> str:
        return self.database_url or f"sqlite://{self.data_dir / 'mainspring.db'}"

    @property
    def site(self) -> str:
        """The address of the web UI, from the settings alone."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url.rstrip("/") or f"http://{host}:{self.port}"

    @property
    def key_file(self) -> Path:
        return self.secret_key_file or self.data_dir / "secret.key"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of the environment, or Misconfigured with the variable, the rule and the way out."""
    given = {
        name: value
        for name, value in (os.environ if environment is None else environment).items()
        if name.startswith(PREFIX)
    }
    known = tuple(f"{PREFIX}{name.upper()}" for name in Settings.model_fields)
    for name in given:
        if name not in known and name not in OURS_BUT_NOT_SETTINGS:
            raise Misconfigured(
                f"unknown setting {name}{did_you_mean(name, known) or ';'} unset it: `mainspring settings` lists all",
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
        raise Misconfigured(f"{name}={value!r}{colon} {rule}", setting=name) from None
