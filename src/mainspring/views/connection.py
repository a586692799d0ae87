"""Connections as all interfaces show them, without secrets. The settings follow from the description of the fields."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, Field, create_model

from mainspring.domain.connection import CONNECTION_FIELDS, MASK, SECRETS, Connection, ConnectionUser
from mainspring.domain.run import Certificate, Outcome
from mainspring.domain.target import shown_url
from mainspring.domain.text import sanitised_view
from mainspring.views.run import PhasesView
from mainspring.views.view import MANAGED_BY, At, OrNull, View

RESPONSE_MAX = 500
REFUSED = (401, 403, 407)  # the server responded, and did not accept the credentials

if TYPE_CHECKING:

    class ConnectionSettingsView(BaseModel):
        """Every setting of a connection, by the name of its field."""

        def __getattr__(self, name: str) -> Any: ...

else:
    ConnectionSettingsView = create_model(
        "ConnectionSettingsView",
        **{
            field.name: (OrNull, Field(description=f"`{MASK}` if one is stored."))
            if field.name in SECRETS
            else (str, Field(description=field.about.sentence))
            for field in CONNECTION_FIELDS
        },
    )


class ConnectionView(ConnectionSettingsView, View):
    id: str
    name: str
    managed_by: OrNull = Field(description=MANAGED_BY)
    version: int = Field(description="Version of the configuration, also used for the ETag.")
    created_at: At
    updated_at: At

    @classmethod
    def of(cls, connection: Connection, **others: object) -> Self:
        config = connection.config
        settings = {field.name: getattr(config, field.name) for field in CONNECTION_FIELDS}
        masked = {name: MASK if settings[name] else None for name in SECRETS}
        return cls.from_value(connection, **(settings | masked), **others)


class ConnectionUserView(View):
    kind: str = Field(description="`endpoint`, `call`, `webhook`, `alert` or `workflow`.")
    id: str
    name: str


class ConnectionDetailView(ConnectionView):
    users: list[ConnectionUserView] = Field(description="What calls through the connection.")

    @classmethod
    def of(cls, connection: Connection, **others: object) -> Self:
        """`users` are the connection's users."""
        return super().of(connection, **others)


def detail_of(connection: Connection, users: Iterable[ConnectionUser]) -> ConnectionDetailView:
    return ConnectionDetailView.of(connection, users=[ConnectionUserView.from_value(each) for each in users])


class CertificateView(View):
    subject: str
    issuer: str
    expires_at: At | None
    days_left: int | None = Field(description="Whole days until it expires; negative if it has expired.")

    @classmethod
    def of(cls, certificate: Certificate, now: datetime) -> Self:
        expires_at = certificate.expires_at
        days_left = None if expires_at is None else (expires_at - now) // timedelta(days=1)
        return cls.from_value(certificate, days_left=days_left)


class ConnectionTest(View):
    ok: bool = Field(description="Whether the server answered, without 401, 403, 407 or 5xx.")
    url: str
    status_code: int | None
    error_code: str | None
    error: str | None
    duration_ms: int
    address: str | None = Field(description="Address that was called; of the proxy, if there is one.")
    phases: PhasesView | None
    certificate: CertificateView | None
    response: str | None = Field(description="Beginning of the response. Secrets are removed.")

    @classmethod
    def of(cls, url: str, outcome: Outcome, now: datetime) -> Self:
        body, status, certificate = outcome.body, outcome.status_code, outcome.certificate
        return cls.from_value(
            outcome,
            ok=status is not None and status not in REFUSED and status < 500,
            url=shown_url(url),
            phases=None if outcome.phases is None else PhasesView.from_value(outcome.phases),
            certificate=None if certificate is None else CertificateView.of(certificate, now),
            response=None if body is None else sanitised_view(body.data, body.content_type)[:RESPONSE_MAX],
        )
