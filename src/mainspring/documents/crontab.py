"""Convert a crontab into a document: a line that calls a URL with curl or wget becomes an endpoint.

A line is converted as a whole or not at all; a remark gives the reason for each line that is left out. Secrets become
references, and their values are returned separately, so that the document can be shown.
"""

import re
from ipaddress import ip_address

from msgspec import Struct, field

from mainspring.documents.curl_command import NotTaken, WebCall, calls_the_web, read_call
from mainspring.documents.references import escaped
from mainspring.documents.shell_words import CannotExpand, shell_words
from mainspring.domain.definition import speaks_of_a_secret
from mainspring.domain.errors import InvalidInput
from mainspring.domain.schedule.cron import check_cron, check_timezone
from mainspring.domain.target import Target, check_url

NAME_CHARS_MAX = 80
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")
_NOT_NAME = re.compile(r"[^A-Za-z0-9._~-]+")  # a name is a segment of REST paths: /endpoints/{name}


class Takeover(Struct):
    """The result for a crontab: entries by name, remarks about omitted lines, and the values of references."""

    endpoints: dict[str, dict[str, object]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)

    def document(self, source: str) -> dict[str, object]:
        return {"source": source, "endpoints": self.endpoints}


def read_crontab(text: str, *, has_users: bool = False, timezone: str | None = None) -> Takeover:
    """`has_users` is for /etc/crontab and /etc/cron.d, whose sixth column is a user. No time zone means UTC."""
    taken = Takeover()
    variables: dict[str, str] = {}
    zone = timezone
    assumed = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        setting = _SETTING.fullmatch(line)
        if setting is not None:
            name, value = setting[1], setting[2].strip().strip("'\"")
            variables[name] = value
            if name in ("TZ", "CRON_TZ"):
                zone = value
            elif name == "MAILTO" and value:
                taken.remarks.append(f"line {number}: MAILTO is left out; create an alert to be notified of failures")
            continue
        try:
            _take(taken, number, line, variables, zone or "UTC", has_users)
            assumed = assumed or zone is None
        except (NotTaken, CannotExpand, InvalidInput) as fault:
            taken.remarks.append(f"line {number}: not converted: {fault}")
    if assumed:
        taken.remarks.append(
            "times are read as UTC: the crontab has no time zone, and cron used that of its machine; give "
            "it, for example --tz Europe/Berlin"
        )
    return taken


def _take(taken: Takeover, number: int, line: str, variables: dict[str, str], zone: str, has_users: bool) -> None:
    cron, rest = _schedule(line)
    if has_users:
        user, _, rest = rest.strip().partition(" ")
        if not rest.strip():
            raise NotTaken(f"there is no command after {user!r}; without a user column, remove --system")
    command, stdin = _split_percent(rest.strip())
    if not command:
        raise NotTaken("there is no command")
    call = read_call(command, _words(command, variables), stdin)
    target = check_url(call.url)
    check_timezone(zone)
    check_cron(cron, zone)
    name = _name(taken, call.url)
    taken.endpoints[name] = _entry(taken, name, call, cron, zone)
    taken.remarks.extend(f"line {number}: {remark}" for remark in call.remarks)
    if _is_private(target):
        taken.remarks.append(
            f"line {number}: {target.host_key} is a private address, which is called only if the server allows its "
            "network; list the network in MAINSPRING_ALLOW_CIDRS, for example 127.0.0.0/8,10.1.0.0/16"
        )


def _words(command: str, variables: dict[str, str]) -> list[str]:
    """The words of a command. If only a shell can expand it, that is the reason to leave the call out."""
    try:
        return shell_words(command, variables)
    except CannotExpand:
        plain = command.split()
        if calls_the_web(plain):
            raise
        return plain
    except ValueError as fault:
        raise NotTaken(f"its quotes do not match ({fault})") from None


def _is_private(target: Target) -> bool:
    """Whether a URL contains a private address; a host name is resolved only when it is called."""
    if target.name is not None:
        return target.name == "localhost" or target.name.endswith(".localhost")
    return not ip_address(target.host_key.rpartition(":")[0].strip("[]")).is_global


def _schedule(line: str) -> tuple[str, str]:
    if line.startswith("@"):
        cron, _, rest = line.partition(" ")
        if cron.lower() == "@reboot":
            raise NotTaken("@reboot is not a time; start it with the machine, for example by systemd")
        return cron.lower(), rest
    parts = line.split(None, 5)
    if len(parts) < 6:
        raise NotTaken("it does not have five fields and a command")
    return " ".join(parts[:5]), parts[5]


def _split_percent(command: str) -> tuple[str, str | None]:
    r"""The command and its standard input from cron: after the first %, each further % is a line break."""
    parts = re.split(r"(?<!\\)%", command)
    first, *others = (part.replace("\\%", "%") for part in parts)
    return first, "\n".join(others) if others else None


def _entry(taken: Takeover, name: str, call: WebCall, cron: str, zone: str) -> dict[str, object]:
    entry: dict[str, object] = {"url": escaped(call.url), "cron": cron, "timezone": zone}
    if call.method != "GET":
        entry["method"] = call.method
    if call.timeout_s:
        entry["timeout"] = f"{call.timeout_s:g}s"
    if call.follows:
        entry["redirects_max"] = 5
    headers: dict[str, object] = {}
    for header, value in call.headers:
        if speaks_of_a_secret(header):
            reference = _variable(f"{name}_{header}")
            taken.secrets[reference] = value
            taken.remarks.append(
                f"{name!r}: the secret {header} is ${{env:{reference}}}; set it where this document is applied"
            )
            headers[header] = f"${{env:{reference}}}"
        else:
            headers[header] = escaped(value)
    if headers:
        entry["headers"] = headers
    if call.body is not None:
        entry["body"] = call.body
    return entry


def _variable(text: str) -> str:
    """A name that a shell can set: it does not start with a digit."""
    word = _NOT_WORD.sub("_", text).strip("_").upper()
    return f"_{word}" if word[0].isdigit() else word


def _name(taken: Takeover, url: str) -> str:
    path = url.partition("://")[2].partition("?")[0].partition("#")[0]
    stem = _NOT_NAME.sub("-", path)[:NAME_CHARS_MAX].strip("-")
    name, number = stem, 1
    while name in taken.endpoints:
        number += 1
        name = f"{stem}-{number}"
    return name
