"""Authorisation: scopes, the roles that bundle them, and the principal of a request."""

from dataclasses import dataclass
from enum import StrEnum

from mainspring.domain.errors import Forbidden


class Scope(StrEnum):
    READ = "read"
    RUN = "run"
    WRITE = "write"
    ADMIN = "admin"


MEANING: dict[Scope, str] = {
    Scope.READ: "View everything in the tenant except secrets.",
    Scope.RUN: "Run, test, pause and resume endpoints; write and clear hints; reset failures.",
    Scope.WRITE: "Create, change, archive and delete jobs, endpoints, rules, alerts and workflows.",
    Scope.ADMIN: "Manage API keys, signing keys and members; view logins and the audit trail.",
}


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"


SCOPES_OF: dict[Role, frozenset[Scope]] = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.OPERATOR: frozenset({Scope.READ, Scope.RUN, Scope.WRITE}),
    Role.OWNER: frozenset(Scope),
}


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated user or key in one tenant. A key has its own scopes, not those of its creator."""

    tenant_id: str
    actor: str  # name in events and the audit trail: `user:ann@example.com`, `key:k_8f3a`, `cli`
    scopes: frozenset[Scope]
    user_id: str = ""  # "": a key or a process, not a person
    session_id: str = ""
    is_operator: bool = False  # installation administrator: may list and create tenants

    def require(self, scope: Scope) -> None:
        if scope not in self.scopes:
            has = ", ".join(sorted(self.scopes)) or "none"
            raise Forbidden(
                f"this needs the scope {scope!s}, and {self.actor} has {has}; use a key or an account that has it",
                scope=scope,
            )
