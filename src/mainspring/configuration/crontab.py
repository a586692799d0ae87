"""Take a crontab over: lines that call a URL with curl or wget become endpoints, all else is told with its reason.

A line is taken over whole or not at all. Secrets in it become references, whose values are kept apart, so that the
document can be shown.
"""

import re
import shlex
from collections.abc import Callable

from msgspec import Struct, field

from mainspring.configuration.references import escaped
from mainspring.configuration.web_commands import NotTaken, WebCall, read_call
from mainspring.domain.definition import speaks_of_a_secret
from mainspring.domain.errors import InvalidInput
from mainspring.domain.schedule import check_cron, check_timezone
from mainspring.domain.target import check_url

NAME_CHARS_MAX = 80
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")


class Takeover(Struct):
    """What a crontab became: entries by name, what was left out and why, and the secrets that references stand for."""

    endpoints: dict[str, dict[str, object]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)

    def document(self, source: str) -> dict[str, object]:
        return {"source": source, "endpoints": self.endpoints}


def read_crontab(text: str, *, has_users: bool = False, timezone: str = "UTC") -> Takeover:
    """`has_users` is for /etc/crontab and /etc/cron.d, whose sixth column is a user."""
    taken = Takeover()
    variables: dict[str, str] = {}
    zone = timezone
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
                taken.remarks.append(f"line {number}: MAILTO is left out; alerts tell of failures")
            continue
        try:
            _take(taken, number, line, variables, zone, has_users)
        except NotTaken as fault:
            taken.remarks.append(f"line {number}: not taken over: {fault}")
        except InvalidInput as fault:
            taken.remarks.append(f"line {number}: not taken over: {fault}")
    return taken


def _take(taken: Takeover, number: int, line: str, variables: dict[str, str], zone: str, has_users: bool) -> None:
    cron, rest = _schedule(line)
    if has_users:
        user, _, rest = rest.strip().partition(" ")
        if not rest.strip():
            raise NotTaken(f"there is no command after {user!r}; without a user's column, leave out --system")
    command, stdin = _split_percent(rest.strip())
    if not command:
        raise NotTaken("there is no command")
    try:
        words = shlex.split(command)
    except ValueError as fault:
        raise NotTaken(f"its quotes do not match ({fault})") from None
    call = read_call(command, words, stdin)
    expand = _expander(variables)
    url = expand(call.url if "://" in call.url else f"http://{call.url}")
    check_timezone(zone)
    check_cron(cron, zone)
    check_url(url)
    name = _name(taken, url)
    taken.endpoints[name] = _entry(taken, name, call, url, cron, zone, expand)
    taken.remarks.extend(f"line {number}: {remark}" for remark in call.remarks)


def _schedule(line: str) -> tuple[str, str]:
    if line.startswith("@"):
        cron, _, rest = line.partition(" ")
        if cron.lower() == "@reboot":
            raise NotTaken("@reboot is no time; start it with the machine, for example by systemd")
        return cron.lower(), rest
    parts = line.split(None, 5)
    if len(parts) < 6:
        raise NotTaken("it has no five fields and a command")
    return " ".join(parts[:5]), parts[5]


def _split_percent(command: str) -> tuple[str, str | None]:
    r"""The command and what cron gives to its standard input: after the first %, each further % a line break."""
    parts = re.split(r"(?<!\\)%", command)
    first, *others = (part.replace("\\%", "%") for part in parts)
    return first, "\n".join(others) if others else None


def _expander(variables: dict[str, str]) -> Callable[[str], str]:
    def expand(text: str) -> str:
        if "`" in text or "$(" in text:
            raise NotTaken("it uses the output of another command, and no shell runs here")

        def value(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            if name not in variables:
                raise NotTaken(f"it uses ${name}, which the crontab does not set")
            return variables[name]

        return _VARIABLE.sub(value, text)

    return expand


def _entry(
    taken: Takeover, name: str, call: WebCall, url: str, cron: str, zone: str, expand: Callable[[str], str]
) -> dict[str, object]:
    entry: dict[str, object] = {"url": url, "cron": cron}
    if zone != "UTC":
        entry["timezone"] = zone
    if call.method != "GET":
        entry["method"] = call.method
    if call.timeout_s:
        entry["timeout"] = f"{call.timeout_s:g}s"
    if call.follows:
        entry["redirects_max"] = 5
    headers: dict[str, object] = {}
    for header, plain in call.headers:
        value = expand(plain)
        if speaks_of_a_secret(header):
            reference = _variable(f"{name}_{header}")
            taken.secrets[reference] = value
            taken.remarks.append(f"{name!r}: the secret {header} is ${{env:{reference}}}; set it where this is applied")
            headers[header] = f"${{env:{reference}}}"
        else:
            headers[header] = escaped(value)
    if headers:
        entry["headers"] = headers
    if call.body is not None:
        entry["body"] = expand(call.body)
    return entry


def _variable(text: str) -> str:
    """A name that a shell can set: it begins with no digit."""
    word = _NOT_WORD.sub("_", text).strip("_").upper()
    return f"_{word}" if word[0].isdigit() else word


def _name(taken: Takeover, url: str) -> str:
    stem = url.partition("://")[2].partition("?")[0].partition("#")[0].rstrip("/")[:NAME_CHARS_MAX]
    name, number = stem, 1
    while name in taken.endpoints:
        number += 1
        name = f"{stem} {number}"
    return name
