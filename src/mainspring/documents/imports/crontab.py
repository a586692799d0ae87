"""Convert a crontab into a document.

A line that calls a URL with curl or wget becomes an endpoint of kind `http`. Another command becomes a heartbeat, whose
job stays in the crontab behind `mainspring exec`, or an endpoint of kind `command`. A line is converted as a whole or
not at all.
"""

import re
from enum import StrEnum

from msgspec import Struct

from mainspring.documents.imports.curl_command import WebCall, calls_the_web, read_call
from mainspring.documents.imports.local_command import command_entry, needs_shell, program_name
from mainspring.documents.imports.shell_words import CannotExpand, split_words
from mainspring.documents.imports.source_file import ITEMS_MAX, refused
from mainspring.documents.imports.takeover import Entry, NotTaken, Takeover, stem_of_url

LINE_CHARS_MAX = 10_000
MAX_DURATION = "1h"  # of a job behind `mainspring exec`; cron itself has no limit
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


class CommandsAs(StrEnum):
    """What to make of a command that does not call a URL."""

    HEARTBEAT = "heartbeat"
    COMMAND = "command"


class CronLine(Struct, frozen=True):
    number: int
    cron: str
    command: str
    stdin: str | None
    user: str = ""

    @property
    def item(self) -> str:
        return f"line {self.number}"


def read_crontab(
    text: str,
    *,
    has_users: bool = False,
    timezone: str | None = None,
    commands_as: CommandsAs = CommandsAs.HEARTBEAT,
) -> Takeover:
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
                taken.leave_out(f"line {number}, MAILTO", "create an alert to be notified of failures")
            continue
        if len(taken.endpoints) + len(taken.left_out) >= ITEMS_MAX:
            raise refused(f"the crontab has more than {ITEMS_MAX:,} jobs; that many are not imported: split it")
        try:
            cron_line = _parts(number, line, has_users)
            _take(taken, cron_line, {"cron": cron_line.cron, "timezone": zone or "UTC"}, variables, commands_as)
            assumed = assumed or zone is None
        except NotTaken as fault:
            taken.leave_out(f"line {number}", fault)
    if assumed:
        taken.remarks.append(
            "times are read as UTC: the crontab has no time zone, and cron used that of its machine; give "
            "it, for example --tz Europe/Berlin"
        )
    return taken


def _take(taken: Takeover, line: CronLine, schedule: Entry, variables: dict[str, str], commands_as: CommandsAs) -> None:
    """A call of a URL that cannot be an endpoint of kind `http` is a command like any other."""
    try:
        call = _call(line, variables)
        if call is not None:
            name = taken.new_name(stem_of_url(call.url))
            taken.add(line.item, name, http_entry(taken, name, call, schedule))
            taken.remarks.extend(f"{line.item}: {remark}" for remark in call.remarks)
            return
    except (NotTaken, CannotExpand) as fault:
        taken.remarks.append(f"{line.item}: not an endpoint of kind http: {fault}")
    name = taken.new_name(program_name(line.command))
    if commands_as is CommandsAs.COMMAND:
        if line.stdin is not None:
            raise NotTaken("cron gives it standard input (%), and an endpoint has none; write the input into a file")
        entry = command_entry(taken, line.command, variables, line.user)
        taken.add(line.item, name, {"kind": "command", **entry, **schedule})
        return
    taken.add(line.item, name, heartbeat_entry(schedule))
    around = f"`mainspring exec {name} -- /bin/sh -c '...'` around" if needs_shell(line.command) else None
    taken.remarks.append(
        f"{line.item}: {name!r} waits for pings of the job: write {around or f'`mainspring exec {name} --` before'} "
        "its command in the crontab"
    )


def heartbeat_entry(schedule: Entry) -> Entry:
    return {"kind": "heartbeat", **schedule, "max_duration": MAX_DURATION}


def http_entry(taken: Takeover, name: str, call: WebCall, schedule: Entry) -> Entry:
    """The entry of a call of curl or wget. Raises NotTaken."""
    entry = taken.call_entry(name, call.url, call.headers, call.body)
    url, others = {"url": entry.pop("url")}, entry
    settings: Entry = {}
    if call.method != "GET":
        settings["method"] = call.method
    if call.timeout_s:
        settings["timeout"] = f"{call.timeout_s:g}s"
    if call.follows:
        settings["redirects_max"] = 5
    if call.attempts > 1:
        delay: Entry = {"delay": "1s"}
        if call.retry_delay_s:
            delay = {"delay": f"{call.retry_delay_s:g}s", "factor": 1}
        settings["retry"] = {"attempts": call.attempts, **delay}
    return {**url, **schedule, **settings, **others}


def _call(line: CronLine, variables: dict[str, str]) -> WebCall | None:
    """The call of a URL; None for another command. Raises NotTaken and CannotExpand."""
    try:
        return read_call(split_words(line.command, variables), line.stdin)
    except CannotExpand:
        if calls_the_web(line.command.split()):
            raise
        return None
    except ValueError as fault:
        raise NotTaken(f"its quotes do not match ({fault})") from None


def _parts(number: int, line: str, has_users: bool) -> CronLine:
    if len(line) > LINE_CHARS_MAX:
        raise NotTaken(f"it has {len(line):,} characters, and cron itself reads fewer than {LINE_CHARS_MAX:,}")
    cron, rest = _schedule(line)
    user = ""
    if has_users:
        user, rest = _first_word(rest.strip())
        if not rest:
            raise NotTaken(f"there is no command after {user!r}; without a user column, remove --system")
    command, stdin = _split_percent(rest.strip())
    if not command:
        raise NotTaken("there is no command")
    return CronLine(number, cron, command, stdin, user)


def _schedule(line: str) -> tuple[str, str]:
    if line.startswith("@"):
        cron, rest = _first_word(line)
        if cron.lower() == "@reboot":
            raise NotTaken("@reboot is not a time; start it with the machine, for example by systemd")
        return cron.lower(), rest
    parts = line.split(None, 5)
    if len(parts) < 6:
        raise NotTaken("it does not have five fields and a command")
    return " ".join(parts[:5]), parts[5]


def _first_word(text: str) -> tuple[str, str]:
    """Columns are separated by spaces or tabs."""
    first, *rest = text.split(None, 1) or [""]
    return first, rest[0] if rest else ""


def _split_percent(command: str) -> tuple[str, str | None]:
    r"""The command and its standard input from cron: after the first %, each further % is a line break."""
    parts = re.split(r"(?<!\\)%", command)
    first, *others = (part.replace("\\%", "%") for part in parts)
    return first, "\n".join(others) if others else None
