"""Convert monitors and notifications of Uptime Kuma into a document: the JSON backup of 1.x, or `kuma.db`.

Groups become jobs. A monitor that Mainspring cannot check in the same way is left out; a part that has no equivalent,
such as its tags, is named.
"""

import math
import re
from collections.abc import Mapping

import msgspec

from mainspring.documents.imports.source_file import Item, is_set, items_of, number_of, read_json, seconds_text, text_of
from mainspring.documents.imports.takeover import Entry, NotTaken, Takeover, basic_login, item_named
from mainspring.documents.references import escaped
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.dns import RecordType
from mainspring.domain.kinds.ping import COUNT_MAX
from mainspring.domain.notify.subscription import CHANNELS_MAX
from mainspring.domain.retry import ATTEMPTS_MAX, RETRY_CAUSES
from mainspring.domain.run import METHODS, REDIRECTS_MAX, TIMEOUT_MS_MAX
from mainspring.domain.target import check_url

WHAT = "the JSON backup of Uptime Kuma 1.x, or the file kuma.db"
PARENTS_MAX = 20
CODES_MAX = 500
ALERTS_MAX = 50  # more are easier to write than to read
GRACE_S_MIN = 10
INTERVAL_S = 60  # the default of Uptime Kuma
EXPIRY_DAYS = 21  # before its end a certificate is first reported, by default
BODY_TYPES = {"json": "application/json", "xml": "text/xml; charset=utf-8", "form": "application/x-www-form-urlencoded"}
PLAIN_2XX = ["200-299"]
OPERATORS = {"": "==", "==": "==", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
INSTEAD = {
    "docker": "check the container's port with kind tcp, or run `docker inspect` with kind command",
    "group": "",
    "real-browser": "Mainspring has no browser",
    **dict.fromkeys(
        ("mysql", "postgres", "sqlserver", "mongodb", "redis", "mqtt", "rabbitmq", "kafka-producer", "radius", "smtp"),
        "check its port with kind tcp",
    ),
}
_SIMPLE_PATH = re.compile(r"(?:\$\.?)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,4}\])*)")
_ADDRESS = re.compile(r"[^@\s,<>]+@[^@\s,<>]+")
_CODES = re.compile(r"(\d{3})(?:-(\d{3}))?")


def read_uptime_kuma(data: bytes, *, with_paused: bool = False) -> Takeover:
    backup = read_json(data, WHAT)
    monitors = items_of(backup.get("monitorList"), "monitorList", WHAT)
    return convert(monitors, items_of(backup.get("notificationList") or [], "notificationList", WHAT), with_paused)


def convert(monitors: list[object], notifications: list[object], with_paused: bool) -> Takeover:
    taken = Takeover()
    by_id = {str(each.get("id")): each for each in monitors if isinstance(each, dict)}
    names: dict[str, str] = {}
    for number, monitor in enumerate(monitors, 1):
        item = f"monitor {number}"
        try:
            if not isinstance(monitor, dict):
                raise NotTaken("it is not an object")
            item = item_named("monitor", text_of(monitor, "name") or number)
            if text_of(monitor, "type") == "group":
                continue  # a job, if it has members
            if not is_set({"active": monitor.get("active", True)}, "active") and not with_paused:
                raise NotTaken("it is paused; --paused imports it too, and it then runs at once")
            names[str(monitor.get("id"))] = _take(taken, item, monitor, by_id)
        except NotTaken as fault:
            taken.leave_out(item, fault)
    _take_notifications(taken, notifications, by_id, names)
    return taken


def _take(taken: Takeover, item: str, monitor: Item, by_id: Mapping[str, Item]) -> str:
    kind = text_of(monitor, "type")
    if is_set(monitor, "upsideDown"):
        raise NotTaken("it is upside down, and a failed call is always a failure here; write it as a condition")
    convert_kind = _KINDS.get(kind)
    if convert_kind is None:
        instead = INSTEAD.get(kind, "")
        raise NotTaken(f"its type {kind[:40]!r} is not a kind of endpoint" + (f"; {instead}" if instead else ""))
    named = text_of(monitor, "name")
    name = taken.new_name(named or kind)
    entry = {**convert_kind(taken, name, monitor), "every": seconds_text(number_of(monitor, "interval", INTERVAL_S))}
    if kind != "push":
        entry |= {"backoff": "none", **_retry(monitor)}
        timeout_s = number_of(monitor, "timeout") or number_of(monitor, "interval", INTERVAL_S) * 0.8
        entry["timeout"] = seconds_text(min(max(round(timeout_s), 1), TIMEOUT_MS_MAX / 1_000))
    if job := _job(monitor, by_id):
        entry["job"] = job
    if description := text_of(monitor, "description") or (named if named != name else ""):
        entry["description"] = description
    taken.add(item, name, entry)
    _tell(taken, item, monitor)
    return name


def _http(taken: Takeover, name: str, monitor: Item) -> Entry:
    if is_set(monitor, "ignoreTls"):
        raise NotTaken("it ignores TLS errors, and certificates are always checked; use a connection with its CA")
    if is_set(monitor, "proxyId"):
        raise NotTaken("it uses a proxy; create a connection with the proxy, and the endpoint with the connection")
    method = (text_of(monitor, "method") or "GET").upper()
    if method not in METHODS:
        raise NotTaken(f"its method {method[:20]!r} is unknown")
    body = (text_of(monitor, "body") or None) if method not in ("GET", "HEAD") else None
    headers = _headers(monitor)
    if body is not None and not any(key.lower() == "content-type" for key, _ in headers):
        headers.append(("Content-Type", BODY_TYPES.get(text_of(monitor, "httpBodyEncoding") or "json", "text/plain")))
    entry = taken.call_entry(name, text_of(monitor, "url"), headers, body)
    if method != "GET":
        entry["method"] = method
    if redirects := min(int(number_of(monitor, "maxredirects", 10)), REDIRECTS_MAX):
        entry["redirects_max"] = redirects
    if codes := _codes(monitor):
        entry["accept_codes"] = codes
    match text_of(monitor, "type"):
        case "json-query":
            entry["condition"] = _condition(monitor)
        case "keyword":
            entry["contains"] = escaped(_keyword(monitor))
    if is_set(monitor, "expiryNotification") and text_of(monitor, "url").lower().startswith("https:"):
        entry["warn_days"] = EXPIRY_DAYS
    return entry


def _keyword(monitor: Item) -> str:
    if is_set(monitor, "invertKeyword"):
        raise NotTaken("it must not find its keyword; only a text that must be found can be checked")
    return text_of(monitor, "keyword")


def _headers(monitor: Item) -> list[tuple[str, str]]:
    headers: list[tuple[str, str]] = []
    if given := text_of(monitor, "headers"):
        try:
            headers = list(msgspec.json.decode(given, type=dict[str, str], strict=False).items())
        except (msgspec.DecodeError, RecursionError, ValueError):
            raise NotTaken("its headers are not a JSON object of texts") from None
    match text_of(monitor, "authMethod"):
        case "" | "null" | "basic":
            login = text_of(monitor, "basic_auth_user"), text_of(monitor, "basic_auth_pass")
            if any(login):
                headers.append(("Authorization", basic_login(":".join(login))))
        case "oauth2-cc":
            raise NotTaken("it logs in with OAuth2; create a connection with the client, and use it")
        case other:
            raise NotTaken(f"its login {other[:20]!r} is not one of an endpoint; create a connection")
    return headers


def _condition(monitor: Item) -> str:
    """A JSON query as CEL, if its path is plain."""
    path = _SIMPLE_PATH.fullmatch(text_of(monitor, "jsonPath"))
    operator = OPERATORS.get(text_of(monitor, "jsonPathOperator"))
    if path is None or operator is None:
        raise NotTaken("its JSON query is more than a path; write it as a condition")
    wanted = text_of(monitor, "expectedValue")
    if operator not in ("==", "!="):
        try:
            return f"double(body.{path[1]}) {operator} {float(wanted)!r}"
        except ValueError:
            raise NotTaken("its JSON query compares with what is not a number") from None
    return f"string(body.{path[1]}) {operator} {msgspec.json.encode(wanted).decode()}"


def _codes(monitor: Item) -> list[int]:
    """The accepted status codes one by one; none of them for any 2xx, the default of both."""
    given = monitor.get("accepted_statuscodes") or PLAIN_2XX
    if not isinstance(given, list) or given == PLAIN_2XX:
        return []
    codes: set[int] = set()
    for each in given[:CODES_MAX]:
        found = _CODES.fullmatch(str(each))
        if found is None:
            raise NotTaken(f"its accepted status code {str(each)[:20]!r} is not a code or a range")
        codes.update(range(int(found[1]), int(found[2] or found[1]) + 1))
    return sorted(codes)


def _port(taken: Takeover, name: str, monitor: Item) -> Entry:
    return {"kind": "tcp", "host": text_of(monitor, "hostname"), "port": int(number_of(monitor, "port"))}


def _ping(taken: Takeover, name: str, monitor: Item) -> Entry:
    count = min(int(number_of(monitor, "ping_count")), COUNT_MAX)
    return {"kind": "ping", "host": text_of(monitor, "hostname"), **({"count": count} if count else {})}


def _dns(taken: Takeover, name: str, monitor: Item) -> Entry:
    record = text_of(monitor, "dns_resolve_type") or "A"
    if record not in tuple(RecordType):
        raise NotTaken(f"its record type {record[:20]!r} is not one of {', '.join(RecordType)}")
    server, port = text_of(monitor, "dns_resolve_server").partition(",")[0].strip(), int(number_of(monitor, "port"))
    entry: Entry = {"kind": "dns", "host": text_of(monitor, "hostname"), "record": record}
    if server:
        entry["resolver"] = server if port in (0, 53) else f"{f'[{server}]' if ':' in server else server}:{port}"
    return entry


def _push(taken: Takeover, name: str, monitor: Item) -> Entry:
    patience_s = number_of(monitor, "maxretries") * number_of(monitor, "retryInterval", INTERVAL_S)
    taken.remarks.append(
        f"{name!r} waits for pings: its job must ping the URL that `mainspring endpoint ping-url {name}` shows, "
        "instead of the push URL; `?status=down` is `/fail`, and `?ping=` is not taken"
    )
    return {"kind": "heartbeat", "grace": seconds_text(max(patience_s, GRACE_S_MIN))}


_KINDS = {
    "http": _http, "keyword": _http, "json-query": _http, "port": _port, "ping": _ping, "dns": _dns, "push": _push,
}  # fmt: skip


def _retry(monitor: Item) -> Entry:
    attempts = _attempts(monitor)
    if attempts == 1:
        return {}
    causes = list(RETRY_CAUSES)
    return {"retry": {"attempts": attempts, "delay": seconds_text(_delay_s(monitor)), "factor": 1, "on": causes}}


def _attempts(monitor: Item) -> int:
    """How many attempts are made. Uptime Kuma retries beyond the interval; here the next run ends the attempts."""
    fitting = math.ceil(number_of(monitor, "interval", INTERVAL_S) / _delay_s(monitor))
    return max(1, min(int(number_of(monitor, "maxretries")) + 1, ATTEMPTS_MAX, fitting))


def _delay_s(monitor: Item) -> float:
    return max(number_of(monitor, "retryInterval", INTERVAL_S), 1)


def _job(monitor: Item, by_id: Mapping[str, Item]) -> str:
    """The groups that a monitor is in, from the outermost. Groups that contain each other are read once."""
    path: list[str] = []
    seen: set[str] = set()
    parent = monitor.get("parent")
    while parent is not None and str(parent) in by_id and str(parent) not in seen and len(path) < PARENTS_MAX:
        seen.add(str(parent))
        group = by_id[str(parent)]
        path.insert(0, text_of(group, "name"))
        parent = group.get("parent")
    return Takeover().new_name("-".join(path)) if path else ""


def _tell(taken: Takeover, item: str, monitor: Item) -> None:
    """What the new endpoint does not check or do."""
    attempts, wanted = _attempts(monitor), int(number_of(monitor, "maxretries")) + 1
    if text_of(monitor, "type") != "push" and attempts < wanted:
        taken.leave_out(
            f"{item}, retries",
            f"{attempts} of {wanted} attempts are made: a run has at most {ATTEMPTS_MAX}, and they end when the next "
            "run begins; give its alert `failures`",
        )
    if is_set(monitor, "resendInterval"):
        taken.leave_out(f"{item}, resend interval", "an alert is sent when the state changes")
    if isinstance(tags := monitor.get("tags"), list) and tags:
        taken.leave_out(f"{item}, tags", "endpoints have no tags; groups became jobs")


def _take_notifications(
    taken: Takeover, notifications: list[object], by_id: Mapping[str, Item], names: Mapping[str, str]
) -> None:
    for number, each in enumerate(notifications, 1):
        item = f"notification {number}"
        try:
            if not isinstance(each, dict):
                raise NotTaken("it is not an object")
            item = item_named("notification", text_of(each, "name") or number)
            _take_notification(taken, each, by_id, names)
        except NotTaken as fault:
            taken.leave_out(item, fault)


def _take_notification(
    taken: Takeover, notification: Item, by_id: Mapping[str, Item], names: Mapping[str, str]
) -> None:
    users = [name for key, name in names.items() if _uses(by_id[key], notification)]
    if not users:
        raise NotTaken("no imported monitor uses it")
    named = taken.new_alert_name(text_of(notification, "name"))
    to = _destinations(taken, named, _config(notification))
    subjects = [""] if len(users) == len(names) else users  # an alert is for all endpoints, or for one
    if len(subjects) + len(taken.alerts) > ALERTS_MAX:
        raise NotTaken(
            f"{len(users)} monitors use it, and an alert is for one endpoint, one job, or all; add one by hand"
        )
    for subject in subjects:
        entry: Entry = {"to": to, "failures": 1}
        name = named if not subject else taken.new_alert_name(f"{named}-{subject}")
        taken.alerts[name] = entry | ({"endpoint": subject} if subject else {})


def _uses(monitor: Item, notification: Item) -> bool:
    ids = monitor.get("notificationIDList")
    return isinstance(ids, dict) and is_set(ids, str(notification.get("id")))


def _config(notification: Item) -> Item:
    """The settings of a notification, which a backup has as a text of JSON."""
    given = notification.get("config")
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.DecodeError, RecursionError, ValueError):
            raise NotTaken("its settings are not JSON") from None
    if not isinstance(given, dict):
        raise NotTaken("it has no settings")
    return given


def _destinations(taken: Takeover, name: str, config: Item) -> list[str]:
    match text_of(config, "type"):
        case "smtp":
            to = [each.strip() for key in ("smtpTo", "smtpCC", "smtpBCC") for each in text_of(config, key).split(",")]
            to = [each for each in to if each]
            if not to or len(to) > CHANNELS_MAX or not all(_ADDRESS.fullmatch(each) for each in to):
                raise NotTaken(f"it does not have 1 to {CHANNELS_MAX} email addresses; add an alert by hand")
            taken.remarks.append(f"alert {name!r} is sent through the mail server of MAINSPRING_SMTP_URL")
            return [escaped(each) for each in to]
        case "webhook":
            url = text_of(config, "webhookURL")
            try:
                check_url(url)
            except InvalidInput as fault:
                raise NotTaken(f"its {fault.field} is not one that is called; add an alert by hand") from None
            return [taken.reference(f"{name} url", url)]
        case other:
            raise NotTaken(f"its type {other[:40]!r} is not converted; add an alert with an apprise URL for it")
