"""Every error a caller can act on, in one tree.

    MainspringError
    ├── InvalidInput       change what was sent                (field, value)
    ├── NotFound           name something that exists          (kind, name)
    ├── Conflict           change the state first              (kind, name, allowed)
    │   └── AdviceRefused  a person decides                    (kind, name)
    ├── Outdated           read it again, then decide          (kind, name)
    ├── QuotaExceeded      ask for less, or for a higher quota (quota, limit)
    ├── NotAuthenticated   say who you are
    │   └── CodeRequired   send your second factor too         (factors, passkey)
    ├── Forbidden          ask a user who has the scope        (scope)
    ├── TooManyRequests    wait, then retry                    (retry_after_s)
    ├── StoreUnavailable   wait, then retry
    └── Misconfigured      the operator changes a setting      (setting)
        └── NoDatabase     start it once: a command that only reads creates none

A message has three parts: what happened, with the value; the rule; the fix.
"""

from mainspring.domain.suggestion import SAME, nearest


class MainspringError(Exception):
    """Anything Mainspring refuses or cannot do, explained for people."""

    code = "error"


class InvalidInput(MainspringError):
    code = "invalid-input"

    def __init__(self, message: str, *, field: str, value: object = None) -> None:
        super().__init__(message)
        self.field = field
        self.value = value


class NotFound(MainspringError):
    code = "not-found"

    def __init__(self, kind: str, name: str, known: tuple[str, ...] = (), *, rule: str = "") -> None:
        super().__init__(f"no {kind} {name!r}{did_you_mean(name, known, same=())}" + (f"; {rule}" if rule else ""))
        self.kind = kind
        self.name = name
        self.suggestion = nearest(name, known, same=())  # the known name that was probably meant


class Conflict(MainspringError):
    code = "conflict"

    def __init__(self, message: str, *, kind: str, name: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kind = kind
        self.name = name
        self.allowed = allowed  # allowed alternatives, if known


class AdviceRefused(Conflict):
    """Advice tried to change what a person set, or what the endpoint does not allow advice to change."""


class Outdated(MainspringError):
    """The object changed since it was read, and the caller requested protection against that."""

    code = "outdated"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {name!r} has changed since you read it; read it again, then decide")
        self.kind = kind
        self.name = name


class QuotaExceeded(MainspringError):
    code = "quota-exceeded"

    def __init__(self, message: str, *, quota: str, limit: int) -> None:
        super().__init__(message)
        self.quota = quota
        self.limit = limit


class NotAuthenticated(MainspringError):
    code = "not-authenticated"


class CodeRequired(NotAuthenticated):
    """The password is correct and the user has a second factor: `factors`, and the challenge for a passkey."""

    code = "code-required"

    def __init__(
        self, message: str, factors: tuple[str, ...] = ("code",), passkey: dict[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.factors = factors
        self.passkey = passkey


class Forbidden(MainspringError):
    code = "forbidden"

    def __init__(self, message: str, *, scope: str) -> None:
        super().__init__(message)
        self.scope = scope


class TooManyRequests(MainspringError):
    code = "too-many-requests"

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class StoreUnavailable(MainspringError):
    code = "store-unavailable"


class Misconfigured(MainspringError):
    code = "misconfigured"

    def __init__(self, message: str, *, setting: str) -> None:
        super().__init__(message)
        self.setting = setting


class NoDatabase(Misconfigured):
    pass


def did_you_mean(name: str, known: tuple[str, ...], *, same: tuple[tuple[str, ...], ...] = SAME) -> str:
    """Returns the end of a message about an unknown name: the nearest known name, if one is close."""
    near = nearest(name, known, same=same)
    return "" if near is None else f", did you mean {str(near)!r}?"
