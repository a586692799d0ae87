"""The result of an import: entries of a document, what was left out and why, and the values of references.

Every entry is checked by the rules of the domain before it is added, so that the document can be applied. The rule that
must not break: a value that looks like a secret is never in the document or in a remark, only in `secrets`.
"""

import base64
import re
from collections.abc import Mapping
from ipaddress import ip_address
from unicodedata import combining, normalize
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct, field
from pydantic import ValidationError

from mainspring.documents.entries import EndpointEntry
from mainspring.documents.references import escaped, local, resolved
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.definition import check_config
from mainspring.domain.endpoint import SCHEDULES, EndpointConfig, Tenant, new_config
from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.placeholders import OPEN
from mainspring.domain.kinds.command import CommandAction, program_of
from mainspring.domain.kinds.command_policy import CommandEntry, CommandPolicy
from mainspring.domain.kinds.http import speaks_of_a_secret
from mainspring.domain.kinds.registry import HTTP, KIND_BY_NAME, KINDS
from mainspring.domain.run import Header
from mainspring.domain.text import spelled_out
from mainspring.domain.validation_message import validation_message

NAME_CHARS_MAX = 80
COMMENT_CHARS_MAX = 500
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")
_NOT_NAME = re.compile(r"[^A-Za-z0-9._~-]+")  # a name is a segment of REST paths: /endpoints/{name}
_REFERENCE = re.compile(r"\$\{env:(\w+)\}")
_LOGIN = re.compile(r"(https?://)([^/?#@]*)@(.*)", re.IGNORECASE | re.DOTALL)

Entry = dict[str, object]


class NotTaken(Exception):
    """Why an item is left out."""


class LeftOut(Struct, frozen=True):
    """An item of the source, or a part of one, that is not in the document."""

    item: str
    reason: str

    def __str__(self) -> str:
        return f"{self.item}: not converted: {self.reason}"


class Takeover(Struct):
    endpoints: dict[str, Entry] = field(default_factory=dict)
    alerts: dict[str, Entry] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    configs: dict[str, EndpointConfig] = field(default_factory=dict)  # what the entries describe
    numbers: dict[str, int] = field(default_factory=dict)  # of names that are taken

    def add(self, item: str, name: str, entry: Entry) -> None:
        """Adds an endpoint under a name of `new_name`. Raises NotTaken if an endpoint cannot have these settings."""
        used = {each: self.secrets[each] for each in _REFERENCE.findall(str(entry)) if each in self.secrets}
        if OPEN in str((entry, used)) and hasattr(KIND_BY_NAME[str(entry.get("kind", HTTP.name))].action, "literal"):
            entry = {**entry, "literal": True}  # the source had no templates
        try:
            config, host = _checked(name, entry, dict.fromkeys(used, "secret"))  # so that no message has their values
        except InvalidInput as fault:
            raise NotTaken(str(fault)) from None
        try:
            if used:
                config, host = _checked(name, entry, used)
        except InvalidInput as fault:
            raise NotTaken(f"the secret in its {fault.field} cannot be sent; give another one") from None
        self.endpoints[name], self.configs[name] = entry, config
        if _is_private(host):
            self.remarks.append(
                f"{item}: {host} is a private address, which is called only if the server allows its network; list the "
                "network in MAINSPRING_ALLOW_CIDRS, for example 127.0.0.0/8,10.1.0.0/16"
            )

    def leave_out(self, item: str, reason: object) -> None:
        self.left_out.append(LeftOut(item, str(reason)))

    def new_name(self, text: str) -> str:
        """A name of an endpoint that is free and fits into a path of the API."""
        return self._free_name(text, self.endpoints)

    def new_alert_name(self, text: str) -> str:
        return self._free_name(text, self.alerts)

    def _free_name(self, text: str, used: Mapping[str, object]) -> str:
        plain = "".join(each for each in normalize("NFKD", text[:1_000]) if not combining(each))
        return self._numbered(_NOT_NAME.sub("-", plain)[:NAME_CHARS_MAX].strip("-.") or "imported", "-", used)

    def _numbered(self, stem: str, mark: str, used: Mapping[str, object]) -> str:
        """The stem, with a number if it is taken; counting continues from the last number."""
        name = stem
        while name in used:
            self.numbers[stem] = self.numbers.get(stem, 1) + 1
            name = f"{stem}{mark}{self.numbers[stem]}"
        return name

    def reference(self, what: str, value: str) -> str:
        """A reference to a secret; the same name is not used for two values."""
        word = _NOT_WORD.sub("_", what).strip("_").upper() or "SECRET"
        stem = f"_{word}" if word[0].isdigit() else word  # a shell can set it
        name = stem if self.secrets.get(stem) == value else self._numbered(stem, "_", self.secrets)
        self.secrets[name] = value
        return f"${{env:{name}}}"

    def call_entry(self, name: str, url: str, headers: list[tuple[str, str]], body: str | None) -> Entry:
        """The URL, headers and body of a call, with references for what is secret. Raises NotTaken."""
        if (login := _LOGIN.fullmatch(url)) is not None:
            url = login[1] + login[3]
            headers = [*headers, ("Authorization", basic_login(unquote(login[2])))]
        entry: Entry = {"url": self._url(name, url)}
        found: dict[str, list[str]] = {}
        for header, value in headers:
            said = self.reference(f"{name} {header}", value) if speaks_of_a_secret(header) else escaped(value)
            found.setdefault(header, []).append(said)
        if found:
            entry["headers"] = {header: each[0] if len(each) == 1 else each for header, each in found.items()}
        if body is not None:
            if (key := _secret_key(body)) is not None:
                raise NotTaken(
                    f"its body has {key[:40]!r}, which looks like a secret, and a document shows bodies; create the "
                    "endpoint by hand, with the secret in a header"
                )
            entry["body"] = body
        return entry

    def _url(self, name: str, url: str) -> str:
        path, mark, query = url.partition("?")
        parts = []
        for part in query.split("&"):
            key, _, value = part.partition("=")
            is_secret = bool(value) and speaks_of_a_secret(unquote(key))
            parts.append(f"{key}={self.reference(f'{name} {key}', value)}" if is_secret else escaped(part))
        return escaped(path) + mark + "&".join(parts)

    def document(self, source: str) -> Entry:
        alerts: Entry = {"alerts": self.alerts} if self.alerts else {}
        return {"source": source, "endpoints": self.endpoints, **alerts}

    def text(self, source: str) -> str:
        """The document with everything that was left out as comments; empty without an endpoint."""
        if not self.endpoints:
            return ""
        document = as_yaml([self.document(source)])
        return "".join(f"# {spelled_out(each)[:COMMENT_CHARS_MAX]}\n" for each in self.notes()) + document

    def notes(self) -> list[str]:
        """Everything to report about the document: what was left out, remarks, and the references to set."""
        used = set(_REFERENCE.findall(msgspec.json.encode((self.endpoints, self.alerts)).decode()))
        found = [name for name in self.secrets if name in used]
        secrets = [
            f"${{env:{name}}} is a secret of the source; set it where this document is applied" for name in found
        ]
        return [*map(str, self.left_out), *self.remarks, *secrets]


def basic_login(login: str) -> str:
    return "Basic " + base64.b64encode(login.encode("utf-8", "replace")).decode()


def item_named(noun: str, name: object) -> str:
    """How messages name an item of the source."""
    return f"{noun} {spelled_out(str(name))[:100]!r}"


def _checked(name: str, entry: Mapping[str, object], secrets: Mapping[str, str]) -> tuple[EndpointConfig, str]:
    """The configuration that an entry describes, as if the operator allowed its command."""
    try:
        parsed = EndpointEntry.model_validate(entry)
    except ValidationError as refused:
        error = refused.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(each) for each in error["loc"])
        words = validation_message(error["type"], error["msg"], error.get("ctx", {}), None)
        raise InvalidInput(f"{where} {words}", field=where) from None
    resolve = local(secrets)
    inputs: dict[str, object] = dict.fromkeys(SCHEDULES) | parsed.sent()
    if parsed.url is not None:
        inputs["url"] = resolved(parsed.url, resolve)
    for kind in KINDS:
        if kind.pairs and getattr(parsed, kind.pairs):
            pairs = getattr(parsed, kind.pairs).items()
            inputs[kind.pairs] = tuple(
                Header(key, resolved(each.value, resolve)) for key, all_ in pairs for each in all_
            )
    config = new_config(name, inputs)
    return check_config(config, Tenant("", ""), commands=_allowing(config))


def _allowing(config: EndpointConfig) -> CommandPolicy:
    action = config.action
    if not isinstance(action, CommandAction) or not action.command:
        return CommandPolicy()
    names = tuple(each.name for each in action.environment)
    return CommandPolicy((CommandEntry(program_of(action), ("*",), ("/",), (action.user or "",), names),))


def _is_private(host_key: str) -> bool:
    """Whether a target is a private address; a host name is resolved only when it is called."""
    host = host_key.rpartition(":")[0].strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False


def _secret_key(body: str) -> str | None:
    """A key of a JSON or form body whose value looks like a secret."""
    try:
        values: list[object] = [msgspec.json.decode(body)]
    except (msgspec.DecodeError, RecursionError, ValueError):
        keys = [key for key, value in parse_qsl(body) if value] if "=" in body else []
        return next((key for key in keys if speaks_of_a_secret(key)), None)
    while values:
        value = values.pop()
        if isinstance(value, dict):
            for key, each in value.items():
                if isinstance(each, str) and each and speaks_of_a_secret(str(key)):
                    return str(key)
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)
    return None


def stem_of_url(url: str) -> str:
    """The name for an endpoint whose source has no name."""
    return url.partition("://")[2].rpartition("@")[2].partition("?")[0].partition("#")[0]
