"""Request models of the routes about accounts."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mainspring.views.account import RoleName, ScopeName

Email = Annotated[str, Field(max_length=1_000, examples=["ann@example.com"])]
Password = Annotated[
    str, Field(max_length=1_000, examples=["four words in a row"], json_schema_extra={"format": "password"})
]
Name = Annotated[str, Field(max_length=1_000, examples=["Ann"])]
Token = Annotated[str, Field(max_length=200, examples=["Zk3p0vN1cVv0h7gq1m5yN0w8dB2sXx7aTq9fJr4uLeo"])]
Quota = Annotated[int | None, Field(ge=0, le=10**15)]


class AccountRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _binary(most: int, description: str) -> object:
    return Field(max_length=most, pattern=r"^[A-Za-z0-9_-]*$", description=f"{description}, in base64url.")


ChallengeId = Annotated[
    str, Field(max_length=100, examples=["chl_01jd3z"], description="Id of the signed challenge, which is valid once.")
]


class AssertionGiven(AccountRequest):
    """The result of `navigator.credentials.get`."""

    challenge: ChallengeId
    id: Annotated[str, _binary(1_400, "The credential's id")]
    client_data: Annotated[str, _binary(4_000, "`clientDataJSON`")]
    authenticator_data: Annotated[str, _binary(4_000, "`authenticatorData`")]
    signature: Annotated[str, _binary(2_000, "`signature`")]


class Login(AccountRequest):
    email: Email
    password: Password
    code: str = Field(
        default="",
        max_length=100,
        description="Code of the authenticator app, or a recovery code, if the account requires one.",
    )
    passkey: AssertionGiven | None = Field(default=None, description="Replaces the code if the account has a passkey.")


class PasskeyLogin(AccountRequest):
    passkey: AssertionGiven


class PasswordAgain(AccountRequest):
    password: Password


class PasskeyNew(AccountRequest):
    """The result of `navigator.credentials.create`."""

    name: Name
    challenge: ChallengeId
    client_data: Annotated[str, _binary(4_000, "`clientDataJSON`")]
    attestation: Annotated[str, _binary(12_000, "`attestationObject`")]


class PasskeyPatch(AccountRequest):
    name: Name


class FactorCode(AccountRequest):
    code: str = Field(
        max_length=100, examples=["123456"], description="Code of the authenticator app, or a recovery code."
    )


class Setup(AccountRequest):
    token: Token = Field(description="The part of the link after `#token=`.")
    password: Password
    email: Email | None = Field(default=None, description="Required for the first owner. Other links belong to a user.")
    name: Name = ""


class PasswordChange(AccountRequest):
    current: Password = ""
    password: Password


class UserNew(AccountRequest):
    email: Email
    name: Name = ""
    operator: bool = Field(default=False, description="Allows the user to list and create tenants and users.")
    tenant: str | None = Field(default=None, max_length=100, description="Tenant that the user joins.")
    role: RoleName = "viewer"


class UserPatch(AccountRequest):
    name: Name | None = None
    disabled: bool | None = None
    operator: bool | None = None


class MemberNew(AccountRequest):
    email: Email
    role: RoleName = Field(examples=["operator"])
    name: Name = Field(default="", description="Display name, for a new user.")


class RoleChange(AccountRequest):
    role: RoleName = Field(examples=["viewer"])


class KeyNew(AccountRequest):
    name: str = Field(max_length=1_000, examples=["deploy script"])
    scopes: list[ScopeName] = Field(default=["read"], min_length=1, max_length=4, examples=[["read", "run"]])
    expires_in: int | str = Field(
        default="90d", description="Time until the key expires: `90d`, `12h` or milliseconds.", examples=["90d"]
    )
    operator: bool = Field(
        default=False, description="Key for the whole installation. Only an operator can create one."
    )


class TenantNew(AccountRequest):
    id: str = Field(max_length=200, examples=["acme"])
    name: Name = ""


class QuotaPatch(AccountRequest):
    """Null removes a limit. Missing fields stay unchanged."""

    name: Name | None = None
    runs_per_month: Quota = None
    tokens_per_month: Quota = None
    endpoints_max: Quota = None
    interval_ms_min: Quota = None


class LinkToken(AccountRequest):
    token: Token = Field(description="The part of the link after `#token=`.")


class TenantChoice(AccountRequest):
    tenant: str = Field(max_length=100, examples=["acme"])
