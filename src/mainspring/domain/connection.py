"""Connections: a named base URL with credentials, TLS and proxy settings that endpoints of a tenant share. Pure.

`ConnectionConfig` is the one place that lists the fields; interfaces, rows and reference pages follow. Input and stored
values have the same form: `secret` and `client_key` are plain text until they are encrypted. The rule that must not
break: a secret is sent only to the origins that it was given for.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import About, ConfigField, describe
from mainspring.domain.endpoint import EndpointConfig, with_values
from mainspring.domain.errors import Conflict, InvalidInput, did_you_mean
from mainspring.domain.expressions.placeholders import mask
from mainspring.domain.run import Action, HttpAction
from mainspring.domain.target import Target, check_header, check_shown_url, check_url, origin_of, shown_url

CONNECTIONS_MAX = 200  # per tenant
DESCRIPTION_MAX = 1_000
NAME_MAX = 1_000
SECRET_MAX = 8_000
PEM_MAX = 100_000
MASK = "••••"  # shown instead of a secret; in an edit it means the stored one
SECRETS = ("secret", "client_key")
PEM = "-----BEGIN "


class Auth(StrEnum):
    NONE = "none"
    HEADER = "header"
    BASIC = "basic"
    DIGEST = "digest"
    OAUTH2 = "oauth2"
    AWS = "aws"


class ConnectionConfig(Struct, frozen=True, omit_defaults=True):
    base_url: Annotated[
        str,
        About(
            "URL that paths of users are relative to. Credentials are sent to its scheme, host and port only.",
            most=2_048,
            examples=("https://billing.example.com/v1",),
        ),
    ]
    description: Annotated[str, About("What the connection is for.", most=DESCRIPTION_MAX)] = ""
    auth: Annotated[Auth, About("Kind of credentials.")] = Auth.NONE
    secret: Annotated[
        str,
        About(
            "Value of the header, password, client secret or secret access key. Encrypted and never shown again.",
            most=SECRET_MAX,
            is_payload=True,
        ),
    ] = ""
    header: Annotated[str, About("With auth header: name of the header.", most=256)] = ""
    username: Annotated[str, About("With auth basic or digest: user name.", most=NAME_MAX)] = ""
    token_url: Annotated[
        str,
        About(
            "With auth oauth2: URL of the token endpoint.",
            most=2_048,
            examples=("https://login.example.com/oauth2/token",),
        ),
    ] = ""
    client_id: Annotated[str, About("With auth oauth2: client ID.", most=NAME_MAX)] = ""
    scope: Annotated[str, About("With auth oauth2: scopes, separated by spaces.", most=NAME_MAX)] = ""
    audience: Annotated[str, About("With auth oauth2: audience, if the server needs one.", most=NAME_MAX)] = ""
    access_key_id: Annotated[str, About("With auth aws: access key ID.", most=200)] = ""
    region: Annotated[str, About("With auth aws: region.", most=100, examples=("eu-central-1",))] = ""
    service: Annotated[str, About("With auth aws: service.", most=100, examples=("execute-api",))] = ""
    ca: Annotated[
        str,
        About(
            "Certificates (PEM) of a private authority, used instead of the system's.", most=PEM_MAX, is_payload=True
        ),
    ] = ""
    tls_min: Annotated[str, About("Minimum TLS version.", choices=("1.2", "1.3"))] = "1.2"
    client_certificate: Annotated[
        str, About("Client certificate (PEM), with its intermediates.", most=PEM_MAX, is_payload=True)
    ] = ""
    client_key: Annotated[
        str,
        About(
            "Private key (PEM) of the client certificate. Encrypted and never shown again.",
            most=PEM_MAX,
            is_payload=True,
        ),
    ] = ""
    proxy: Annotated[str, About("Name of a proxy that the operator allows (MAINSPRING_PROXIES).", most=100)] = ""


CONNECTION_FIELDS = describe(ConnectionConfig)
FIELD_BY_KEY = {field.key: field for field in CONNECTION_FIELDS}
# The fields of each kind of credentials, all required except `OPTIONAL`; fields of another kind are refused.
FIELDS_OF: dict[Auth, tuple[str, ...]] = {
    Auth.NONE: (),
    Auth.HEADER: ("header", "secret"),
    Auth.BASIC: ("username", "secret"),
    Auth.DIGEST: ("username", "secret"),
    Auth.OAUTH2: ("token_url", "client_id", "secret", "scope", "audience"),
    Auth.AWS: ("access_key_id", "region", "service", "secret"),
}
OPTIONAL = ("scope", "audience")
_AWS_PART = re.compile(r"[A-Za-z0-9.-]+")
_CREDENTIALS = tuple(dict.fromkeys(name for names in FIELDS_OF.values() for name in names))


class Connection(Struct, frozen=True):
    id: str
    tenant_id: str
    name: str
    config: ConnectionConfig
    version: int
    created_at: datetime
    updated_at: datetime
    managed_by: str = ""  # the document source that describes it; "": none

    @property
    def origin(self) -> str:
        return origin_of(self.config.base_url)


class StoredToken(Struct, frozen=True):
    """An access token that processes share; valid for one version of its connection."""

    connection_id: str
    tenant_id: str
    version: int
    sealed: str
    expires_at: datetime


class ConnectionUser(Struct, frozen=True):
    """What calls through a connection: an endpoint, a waiting call, a webhook, an alert, a workflow."""

    kind: str
    id: str
    name: str


def secret_place(tenant_id: str, connection_id: str, field: str) -> str:
    """Encryption context of a secret of a connection."""
    return f"{tenant_id}|{connection_id}|connection:{field}"


def token_place(tenant_id: str, connection_id: str) -> str:
    return f"{tenant_id}|{connection_id}|connection token"


def with_fields(config: ConnectionConfig, given: Mapping[str, object]) -> ConnectionConfig:
    """The configuration with inputs by key; None restores a field's default."""
    values: dict[str, Any] = {}
    for key, value in given.items():
        field = FIELD_BY_KEY[key]
        if value is None and field.is_required:
            raise InvalidInput(f"{key} cannot be null; leave it out, or give one", field=key)
        values[field.name] = field.default if value is None else value
    return replace(config, **values)


def check_connection(
    given: ConnectionConfig, before: ConnectionConfig | None, allow_ports: frozenset[int], proxies: Iterable[str]
) -> ConnectionConfig:
    """The configuration as stored, except that new secrets are plain. Raises InvalidInput.

    `before` is the stored one: secrets that equal its secrets are encrypted and stay. Fields of another kind of
    credentials that an edit did not change are cleared.
    """
    values = {field.name: field.checked(_trimmed(field, getattr(given, field.name))) for field in CONNECTION_FIELDS}
    plain = _without_other_kinds(replace(given, **values), before)
    target = _checked_url(plain.base_url, "base_url", allow_ports)
    if "?" in target.url:
        raise InvalidInput(
            "base_url has a query string; paths are added to a base URL: put the query string into the url of the user",
            field="base_url",
        )
    checked = replace(plain, base_url=target.url)
    for name in FIELDS_OF[checked.auth]:
        if not getattr(checked, name) and name not in OPTIONAL:
            raise InvalidInput(f"auth {checked.auth} needs {name}, and none is given; give one", field=name)
    if checked.auth is Auth.OAUTH2:
        checked = replace(checked, token_url=_checked_url(checked.token_url, "token_url", allow_ports).url)
    _check_secret(checked, before)
    _check_tls(checked, before)
    _check_proxy(checked.proxy, tuple(proxies))
    _refuse_other_use(checked, before)
    return checked


def uses_of(config: ConnectionConfig) -> dict[str, set[str]]:
    """How each secret is used, and at which origin. A client secret is for the token server, and what it obtains for
    the base URL; both see the client certificate.
    """
    base = origin_of(config.base_url)
    if config.auth is not Auth.OAUTH2:
        return {"secret": {f"auth {config.auth} at {base}"}, "client_key": {base}}
    token = origin_of(config.token_url)
    return {"secret": {f"the token_url at {token}", f"tokens at {base}"}, "client_key": {base, token}}


def connection_name(action: Action) -> str:
    """The connection that an action names; "" if it names none. Only HTTP requests have one."""
    return action.connection if isinstance(action, HttpAction) else ""


def attach(config: EndpointConfig, connection: Connection, allow_ports: frozenset[int] = frozenset()) -> EndpointConfig:
    """The configuration of an endpoint that calls through a connection: its URL is complete, and of the same origin."""
    action = config.action
    assert isinstance(action, HttpAction)  # no other kind names a connection
    url = full_url(action.url, connection, allow_ports)
    refuse_own_credentials(action, connection)
    return with_values(config, {"url": url, "connection": connection.name})


def full_url(url: str, connection: Connection, allow_ports: frozenset[int] = frozenset()) -> str:
    """A URL, or a path relative to the base URL, as a complete URL. Raises InvalidInput for another origin."""
    if "://" not in mask(url)[0].partition("?")[0]:
        base = connection.config.base_url.rstrip("/")
        url = f"{base}{url}" if url.startswith("?") else f"{base}/{url.lstrip('/')}"
    target = check_shown_url(url, allow_ports)
    if target.origin != connection.origin:
        raise InvalidInput(
            f"url {shown_url(target.url)[:100]!r} is not at {connection.origin}, where the connection "
            f"{connection.name!r} sends its credentials; give a path, a URL at that origin, or another connection",
            field="url",
            value=shown_url(target.url),
        )
    return target.url


def relative_url(url: str, base_url: str) -> str:
    """A URL as a path relative to the base URL, if it begins with it; otherwise unchanged."""
    base = base_url.rstrip("/")
    return url[len(base) :] if url.startswith(f"{base}/") else url


def rebased_url(url: str, old_base: str, new_base: str) -> str:
    """A URL below the old base URL, moved to the new one; a URL that only shares the origin keeps its own path."""
    path = relative_url(url, old_base)
    if path != url:
        return f"{new_base.rstrip('/')}{path}"
    return (
        f"{origin_text(new_base)}{url.partition('://')[2].partition('/')[1]}{url.partition('://')[2].partition('/')[2]}"
    )


def origin_text(url: str) -> str:
    """The beginning of a checked URL up to its path, as written."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.partition('/')[0]}"


def refuse_own_credentials(action: HttpAction, connection: Connection) -> None:
    """A request has one set of credentials: its own header of that name would contradict the connection's."""
    name = credential_header(connection.config)
    if name and any(header.name.lower() == name.lower() for header in action.headers):
        raise InvalidInput(
            f"header {name!r} is sent by the connection {connection.name!r}; remove the header, or the connection",
            field="headers",
            value=name,
        )


def credential_header(config: ConnectionConfig) -> str:
    """The header that carries the credentials; "" without credentials."""
    if config.auth is Auth.HEADER:
        return config.header
    return "" if config.auth is Auth.NONE else "Authorization"


def connection_secrets(connections: Iterable[Connection], opened: Callable[[str, str], str]) -> list[str]:
    """The secrets to redact from responses: those of connections, also without their scheme."""
    found = []
    for each in connections:
        if each.config.secret:
            value = opened(each.config.secret, secret_place(each.tenant_id, each.id, "secret"))
            found += [value, value.partition(" ")[2]]
    return [each for each in found if each]


def refuse_delete(connection: Connection, users: Iterable[ConnectionUser]) -> None:
    """Raises Conflict, with the list of users, if a connection is in use."""
    named = [f"{each.kind} {each.name!r}" for each in users]
    if named:
        more = f" and {len(named) - 10} more" if len(named) > 10 else ""
        raise Conflict(
            f"connection {connection.name!r} is used by {', '.join(named[:10])}{more}; a connection in use cannot be "
            "deleted: change or delete its users first",
            kind="connection",
            name=connection.name,
        )


def named_twice(connection: Connection) -> Conflict:
    return Conflict(
        f"another connection is named {connection.name!r} already; names are unique, choose another",
        kind="connection",
        name=connection.name,
    )


def _trimmed(field: ConfigField, value: object) -> object:
    """Text without the line break that a file ends with; a PEM keeps its own."""
    if not isinstance(value, str) or field.about.choices:
        return value
    return value.rstrip("\r\n") if field.name == "secret" else value.strip()


def _without_other_kinds(given: ConnectionConfig, before: ConnectionConfig | None) -> ConnectionConfig:
    cleared: dict[str, str] = {}
    for name in _CREDENTIALS:
        value = getattr(given, name)
        if not value or name in FIELDS_OF[given.auth]:
            continue
        if before is None or given.auth is before.auth or value != getattr(before, name):
            kinds = " or ".join(kind for kind, names in FIELDS_OF.items() if name in names)
            raise InvalidInput(
                f"{name} is for auth {kinds}, and auth is {given.auth}; remove {name}, or set auth", field=name
            )
        cleared[name] = ""
    return replace(given, **cleared)


def _checked_url(url: str, field: str, allow_ports: frozenset[int]) -> Target:
    try:
        return check_url(url, allow_ports)
    except InvalidInput as fault:
        raise InvalidInput(f"{field}: {fault}", field=field, value=fault.value) from None


def _check_secret(checked: ConnectionConfig, before: ConnectionConfig | None) -> None:
    if checked.auth is Auth.HEADER:
        is_new = before is None or checked.secret != before.secret
        try:
            check_header(checked.header, checked.secret if is_new else "")
        except InvalidInput as fault:
            raise InvalidInput(str(fault), field="header", value=fault.value) from None
    if checked.auth is Auth.BASIC and ":" in checked.username:
        raise InvalidInput(
            "username contains a colon, which separates user name and password in auth basic; use another user name",
            field="username",
        )
    for name in ("username", "secret", "access_key_id", "region", "service", "client_id", "scope", "audience"):
        if any(ord(character) < 32 or ord(character) == 127 for character in getattr(checked, name)):
            raise InvalidInput(f"{name} contains a line break or a control character; remove it", field=name)
    for name in ("region", "service"):
        if checked.auth is Auth.AWS and not _AWS_PART.fullmatch(getattr(checked, name)):
            raise InvalidInput(
                f"{name} contains something else than letters, digits, - and .; write it as in eu-central-1", field=name
            )


def _check_tls(checked: ConnectionConfig, before: ConnectionConfig | None) -> None:
    for name, kind in (("ca", "CERTIFICATE"), ("client_certificate", "CERTIFICATE"), ("client_key", "PRIVATE KEY")):
        text = getattr(checked, name)
        is_stored = before is not None and text == getattr(before, name)
        if text and not is_stored and (PEM not in text or f"{kind}-----" not in text):
            raise InvalidInput(
                f"{name} has no PEM block {kind}; give the text between BEGIN and END, with both lines", field=name
            )
    if bool(checked.client_certificate) != bool(checked.client_key):
        given, missing = ("client_certificate", "client_key")
        if not checked.client_certificate:
            given, missing = missing, given
        raise InvalidInput(f"{given} is given without {missing}; give both, or neither", field=missing)
    if origin_of(checked.base_url).startswith("http://") and (checked.ca or checked.client_certificate):
        raise InvalidInput(
            "base_url is http://, which has no TLS; use https://, or remove ca and client_certificate", field="base_url"
        )


def _check_proxy(name: str, allowed: tuple[str, ...]) -> None:
    if name and name not in allowed:
        known = f"; known proxies are {', '.join(sorted(allowed))}" if allowed else ""
        raise InvalidInput(
            f"proxy {name!r} is not one that the operator allows{did_you_mean(name, allowed) or known}; choose "
            "another, or have the operator add it to MAINSPRING_PROXIES",
            field="proxy",
            value=name,
        )


def _refuse_other_use(checked: ConnectionConfig, before: ConnectionConfig | None) -> None:
    if before is None:
        return
    now, then = uses_of(checked), uses_of(before)
    kept = [name for name in SECRETS if getattr(checked, name) and getattr(checked, name) == getattr(before, name)]
    moved = [name for name in kept if now[name] - then[name]]
    if moved:
        name = moved[0]
        raise InvalidInput(
            f"{' and '.join(moved)} would be used for {', '.join(sorted(now[name] - then[name]))}, but was given for "
            f"{', '.join(sorted(then[name]))}; give it again, or keep auth and the origins",
            field=name,
        )
