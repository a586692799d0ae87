"""The description of a kind of endpoint. Pure.

A kind is a subclass of `Kind` and an `Action` struct whose fields are described by `About`. Interfaces, documents,
pages, the schema and the reference follow from the two. How a call is made is decided elsewhere: `outbound/kinds` has
one caller for each kind.

The rule that must not break: an action that passed `check` can be called unchanged, and `summary` contains no secret.
"""

from typing import ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import ConfigField, describe
from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.condition import check_condition, shape_of
from mainspring.domain.kinds.command_policy import NO_COMMANDS, CommandPolicy
from mainspring.domain.run import Action, Header

A = TypeVar("A", bound=Action)


class Fact(Struct, frozen=True):
    """One value that a result shows to conditions, rules, history and people."""

    name: str  # as a condition reads it: `body.banner`
    about: str


class CallPolicy(Struct, frozen=True):
    """What the operator allows calls to do."""

    allow_ports: frozenset[int] = frozenset()  # ports that kind `http` refuses otherwise
    tenant_id: str = ""
    commands: CommandPolicy = NO_COMMANDS
    site: str = ""  # where callbacks reach this installation; "": they cannot


class Kind(Generic[A]):
    """One kind of endpoint. Every method is pure."""

    name: ClassVar[str]
    about: ClassVar[str]  # one sentence: what a run does
    action: type[A]
    facts: ClassVar[tuple[Fact, ...]] = ()
    has_status_code: ClassVar[bool] = False  # whether its results have a status code
    has_tls: ClassVar[bool] = False  # whether conditions read the certificate as `tls`; others have it in `body`
    pairs: ClassVar[str] = ""  # its field of named values, some of them secret: `headers`
    pair: ClassVar[str] = ""  # one of them, in messages and as a part of what they are encrypted for: `header`
    searched: ClassVar[tuple[str, ...]] = ()  # fields that a search for text reads
    status_label: ClassVar[str] = ""  # the prefix of a status code: `HTTP`

    def check(self, action: A, policy: CallPolicy) -> A:
        """The normalised action. Raises InvalidInput that names the first fault. Bounds of fields are checked later."""
        return action

    def host_key(self, action: A) -> str:
        """`host:port` that concurrent calls and rates are counted by; "": the endpoint calls no host."""
        return ""

    def summary(self, action: A) -> str:
        """What the endpoint calls, in one line without secrets."""
        raise NotImplementedError

    def origin(self, action: A) -> str:
        """The recipient of an action's secrets. They are not sent to another one that is chosen later."""
        return self.host_key(action)

    def check_whole(self, action: A) -> None:
        """Checks that hold for every kind, once the fields are normalised."""
        if action.condition is None:
            return
        check_condition(action.condition)
        for name, is_known in (("status_code", self.has_status_code), ("tls", self.has_tls)):
            if not is_known and name in shape_of(action.condition).names:
                raise InvalidInput(
                    f"the condition reads {name}, and kind {self.name} has none; "
                    f"read {self.facts[0].name if self.facts else 'body'} instead",
                    field="condition",
                )

    @property
    def fields(self) -> tuple[ConfigField, ...]:
        return describe(self.action)

    def pairs_of(self, action: A) -> tuple[Header, ...]:
        """Its named values, secret ones encrypted once they are stored."""
        found: tuple[Header, ...] = getattr(action, self.pairs) if self.pairs else ()
        return found

    def with_pairs(self, action: A, pairs: tuple[Header, ...]) -> A:
        return replace(action, **{self.pairs: pairs}) if self.pairs else action
