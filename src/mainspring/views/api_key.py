"""API keys and signing keys as every door shows them: never the secret itself, but once, when it is made."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from mainspring.domain.access.account import ApiKey
from mainspring.views.view import At, View

ScopeName = Literal["read", "run", "write", "admin"]


class ApiKeyView(View):
    id: str
    name: str
    scopes: list[ScopeName]
    operator: bool
    status: Literal["live", "expired", "revoked"]
    created_by: str
    created_at: At
    expires_at: At
    last_used_at: At | None = Field(description="Within a minute.")
    revoked_at: At | None

    @classmethod
    def of(cls, key: ApiKey, now: datetime, /, **others: object) -> Self:
        status = "revoked" if key.revoked_at else "live" if key.is_live(now) else "expired"
        return cls.from_value(key, scopes=sorted(key.scopes), operator=key.is_operator, status=status, **others)


class ApiKeyCreated(ApiKeyView):
    key: str = Field(description="The key itself. It is shown here only.", examples=["ms_8f3aK2xZ_..."])


class SigningKey(View):
    id: str
    created_at: At


class SigningKeyCreated(View):
    id: str
    secret: str = Field(description="Shown here only; give it to whoever verifies the webhook-signature header.")


class Revoked(View):
    id: str
    revoked: Literal[True] = True
