"""What the routes about accounts take and answer with."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

At = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2030-01-31T08:00:00Z"])]
ScopeName = Literal["read", "run", "write", "admin"]
RoleName = Literal["viewer", "operator", "owner"]
Email = Annotated[str, Field(max_length=1_000, examples=["ann@example.com"])]
Password = Annotated[
    str, Field(max_length=1_000, examples=["four words in a row"], json_schema_extra={"format": "password"})
]
Name = Annotated[str, Field(max_length=1_000, examples=["Ann"])]
Token = Annotated[str, Field(max_length=200, examples=["Zk3p0vN1cVv0h7gq1m5yN0w8dB2sXx7aTq9fJr4uLeo"])]
Quota = Annotated[int | None, Field(ge=0, le=10**15)]


class AccountRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AccountResponse(BaseModel):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


def _binary(most: int, description: str) -> object:
    return Field(max_length=most, pattern=r"^[A-Za-z0-9_-]*$", description=f"{description}, in base64url.")


ChallengeId = Annotated[
    str, Field(max_length=100, examples=["chl_01jd3z"], description="Of what was signed: it is good once.")
]


class AssertionGiven(AccountRequest):
    """What `navigator.credentials.get` answered with."""

    challenge: ChallengeId
    id: Annotated[str, _binary(1_400, "The credential's id")]
    client_data: Annotated[str, _binary(4_000, "`clientDataJSON`")]
    authenticator_data: Annotated[str, _binary(4_000, "`authenticatorData`")]
    signature: Annotated[str, _binary(2_000, "`signature`")]


class Login(AccountRequest):
    email: Email
    password: Password
    code: str = Field(default="", max_length=100, description="Of the app, or a recovery code, where one is asked for.")
    passkey: AssertionGiven | None = Field(default=None, description="In place of a code, where a passkey is offered.")


class PasskeyLogin(AccountRequest):
    passkey: AssertionGiven


class PasswordAgain(AccountRequest):
    password: Password


class PasskeyNew(AccountRequest):
    """What `navigator.credentials.create` answered with."""

    name: Name
    challenge: ChallengeId
    client_data: Annotated[str, _binary(4_000, "`clientDataJSON`")]
    attestation: Annotated[str, _binary(12_000, "`attestationObject`")]


class PasskeyPatch(AccountRequest):
    name: Name


class FactorCode(AccountRequest):
    code: str = Field(max_length=100, examples=["123456"], description="Of the app, or a recovery code.")


class Setup(AccountRequest):
    token: Token = Field(description="From the link: what stands after `#token=`.")
    password: Password
    email: Email | None = Field(default=None, description="For the first owner; another link knows its user.")
    name: Name = ""


class PasswordChange(AccountRequest):
    current: Password = ""
    password: Password


class UserNew(AccountRequest):
    email: Email
    name: Name = ""
    operator: bool = Field(default=False, description="May see and make tenants and users.")
    tenant: str | None = Field(default=None, max_length=100, description="A tenant it belongs to from the beginning.")
    role: RoleName = "viewer"


class UserPatch(AccountRequest):
    name: Name | None = None
    disabled: bool | None = None
    operator: bool | None = None


class MemberNew(AccountRequest):
    email: Email
    role: RoleName = Field(examples=["operator"])
    name: Name = Field(default="", description="Of a user who does not exist yet.")


class RoleChange(AccountRequest):
    role: RoleName = Field(examples=["viewer"])


class KeyNew(AccountRequest):
    name: str = Field(max_length=1_000, examples=["deploy script"])
    scopes: list[ScopeName] = Field(default=["read"], min_length=1, max_length=4, examples=[["read", "run"]])
    expires_in: int | str = Field(
        default="90d", description="How long it lives, as `90d`, `12h` or milliseconds.", examples=["90d"]
    )
    operator: bool = Field(default=False, description="Of the installation; only an operator can make such a key.")


class TenantNew(AccountRequest):
    id: str = Field(max_length=200, examples=["acme"])
    name: Name = ""


class QuotaPatch(AccountRequest):
    """Null is no limit; what is not named stays."""

    name: Name | None = None
    runs_per_month: Quota = None
    tokens_per_month: Quota = None
    endpoints_max: Quota = None
    interval_ms_min: Quota = None


class UserView(AccountResponse):
    id: str
    email: str
    name: str
    operator: bool
    disabled: bool
    has_password: bool
    oidc: bool = Field(description="Has logged in through the OIDC issuer.")
    created_at: At


class Invited(AccountResponse):
    user: UserView
    link: str | None = Field(
        description="Opens once, within 24 hours, to set a password. It is shown here only; null where it was emailed."
    )
    emailed: bool = Field(description="Whether the link was sent to the address.")


class MembershipView(AccountResponse):
    tenant: str
    name: str
    role: RoleName


class Whoami(AccountResponse):
    actor: str
    tenant: str | None
    scopes: list[ScopeName]
    operator: bool
    user: UserView | None = Field(description="Null for an API key.")
    tenants: list[MembershipView] = Field(
        description="Where the user belongs; the header X-Mainspring-Tenant chooses one."
    )
    sole_tenant: bool = Field(
        description="Whether the installation has one tenant. With more, addresses of the web UI name the tenant."
    )
    expires_at: At | None
    demo: bool = Field(description="Whether this is `mainspring demo`, where everybody is a visitor.")


class LoginSessionView(AccountResponse):
    id: str
    current: bool = Field(description="Whether this is the session that asks.")
    address: str | None = Field(description="Where it was begun.")
    agent: str | None = Field(description="The browser or program that began it, in its own words.")
    created_at: At
    seen_at: At = Field(description="Within a minute.")
    expires_at: At


class LoginSessions(AccountResponse):
    items: list[LoginSessionView]


class FactorState(AccountResponse):
    enabled: bool
    recovery_codes_left: int


class FactorBegun(AccountResponse):
    secret: str = Field(description="To type into an app that shows codes. It is shown here only.")
    uri: str = Field(description="The same as an address that such an app reads: `otpauth://totp/...`.")


class FactorConfirmed(AccountResponse):
    recovery_codes: list[str] = Field(description="Each opens once, without the app. They are shown here only.")


class PasskeySight(AccountResponse):
    id: str
    name: str
    usable: bool = Field(description="False: it was added before the address was proved; remove it and add another.")
    created_at: At
    used_at: At | None


class PasskeyList(AccountResponse):
    items: list[PasskeySight]
    unavailable: str | None = Field(description="Why passkeys cannot be used at this server's address; null: they can.")


class PasskeyChallenge(AccountResponse):
    challenge: str = Field(description="To be sent with the answer; good once, for five minutes.")
    options: dict[str, object] = Field(
        description="For `navigator.credentials.create` or `get`, as JSON: binary values are in base64url."
    )


class PasskeyAdded(AccountResponse):
    passkey: PasskeySight
    recovery_codes: list[str] = Field(
        description="Where the user had none: each opens once, without a passkey. They are shown here only."
    )


class SessionsEnded(AccountResponse):
    ended: int


class MemberView(AccountResponse):
    user_id: str | None = Field(description="Null for somebody who was invited and has not accepted yet.")
    email: str
    name: str
    role: RoleName
    disabled: bool
    status: Literal["active", "invited", "unproved", "disabled"] = Field(
        description="`unproved`: the password was set through another tenant's link and the address was never proved, "
        "so the account cannot be used here until the person gets a new link."
    )
    created_at: At
    expires_at: At | None = Field(description="Until when an invitation can be accepted.")


class MemberAdded(AccountResponse):
    member: MemberView
    link: str | None = Field(
        description="Accepts the invitation, once, within 24 hours. Shown here only; null where it was emailed."
    )
    emailed: bool = Field(description="Whether the link was sent to the address.")


class LinkToken(AccountRequest):
    token: Token = Field(description="From the link: the part after `#token=`.")


class LinkView(AccountResponse):
    use: Literal["first_owner", "password", "invitation"]
    email: str | None
    tenant: str | None
    tenant_name: str | None
    role: RoleName | None = Field(description="The role that an invitation offers.")
    needs_login: bool = Field(description="The address has an account: log in to it, then accept.")
    expires_at: At


class TenantChoice(AccountRequest):
    tenant: str = Field(max_length=100, examples=["acme"])


class ApiKeyView(AccountResponse):
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


class ApiKeyCreated(ApiKeyView):
    key: str = Field(description="The key itself. It is shown here only.", examples=["ms_8f3aK2xZ_..."])


class SigningKey(AccountResponse):
    id: str
    created_at: At


class SigningKeyCreated(AccountResponse):
    id: str
    secret: str = Field(description="Shown here only; give it to whoever verifies the webhook-signature header.")


class Revoked(AccountResponse):
    id: str
    revoked: Literal[True] = True


class TenantView(AccountResponse):
    id: str
    name: str
    runs_per_month: int | None
    tokens_per_month: int | None
    endpoints_max: int | None
    interval_ms_min: int | None
    runs_this_month: int
    signing_keys: int


class AuditEntryView(AccountResponse):
    seq: int
    at: At
    actor: str
    address: str | None
    act: str
    subject: str | None
    endpoint: str | None = Field(description="The name that the endpoint has now, where the subject is one.")
    detail: dict[str, object]
    before_sha256: str | None
    after_sha256: str | None
    seal: str


class AuditVerdict(AccountResponse):
    whole: bool
    entries: int = Field(description="How many entries fit, from the first one on.")
    fault_at: int | None = Field(description="The first entry that does not.")
    why: str | None


class Users(AccountResponse):
    items: list[UserView]


class Members(AccountResponse):
    items: list[MemberView]


class ApiKeys(AccountResponse):
    items: list[ApiKeyView]


class SigningKeys(AccountResponse):
    items: list[SigningKey]


class Tenants(AccountResponse):
    items: list[TenantView]


class AuditPage(AccountResponse):
    items: list[AuditEntryView]
    next_cursor: str | None = Field(description="Give it back as `cursor` for the next page; null: this is the last.")
