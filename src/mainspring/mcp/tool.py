"""Define tools: a verb with its scope, its arguments and its annotations; and run calls to them.

A tool parses, calls one operation or one read, and returns a view. A refusal is returned as an error message with the
rule and the fix; an internal error is logged and reported without details.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

import structlog
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from mainspring.domain.access.scope import Principal, Scope
from mainspring.domain.errors import InvalidInput, MainspringError, NotFound, did_you_mean
from mainspring.domain.name import shown
from mainspring.domain.validation_message import validation_message
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.ports.outbound import Caller
from mainspring.views.view import JsonObject

FAULTS_TOLD_MAX = 5
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

SECRET = ("secret_headers",)
log = structlog.get_logger()


class Arguments(BaseModel):
    """The arguments of a tool. Unknown names are refused: ignored, they would seem to have an effect."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolCaller(Struct, frozen=True):
    """One call: the caller's desk, and the HTTP caller for requests."""

    desk: Desk
    caller: Caller
    scopes: frozenset[Scope] = frozenset()

    def desk_for(self, dry_run: bool) -> Desk:
        return dry_run_desk(self.desk) if dry_run else self.desk


A_contra = TypeVar("A_contra", bound=Arguments, contravariant=True)


class Work(Protocol[A_contra]):
    def __call__(self, visit: ToolCaller, wanted: A_contra, /) -> Awaitable[JsonObject]: ...


A = TypeVar("A", bound=Arguments)


class Tool(Struct, Generic[A], frozen=True):
    """`only_reads` changes nothing; `destroys` cannot be undone; `repeats` may be called twice with the same effect;
    `calls_out` sends a request to another server.
    """

    name: str
    description: str
    scope: Scope
    arguments: type[A]
    work: Work[A]
    only_reads: bool = False
    destroys: bool = False
    repeats: bool = False
    calls_out: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return _plain(self.arguments.model_json_schema())


class Toolbox:
    """The tools of one module, in the order in which they are written."""

    def __init__(self) -> None:
        self.tools: list[Tool[Any]] = []

    def tool(self, scope: Scope, **marks: bool) -> Callable[[Work[A]], Work[A]]:
        """Declares a tool: named by its function, described by its docstring, its arguments by their annotation."""

        def declare(work: Work[A]) -> Work[A]:
            function: Any = work
            arguments = function.__annotations__["wanted"]
            self.tools.append(Tool(function.__name__, _text(function.__doc__), scope, arguments, work, **marks))
            return work

        return declare


class ToolResult(Struct, frozen=True):
    """The result of a call: an object, or an error."""

    content: JsonObject
    is_error: bool = False


async def answer(
    tools: dict[str, Tool[Any]], name: str, given: dict[str, Any], principal: Principal, visit: Callable[[], ToolCaller]
) -> ToolResult:
    """Calls a tool by its name for a principal. Never raises: every failure is a result too."""
    try:
        if name not in tools:
            raise NotFound("tool", shown(name), tuple(tools))
        tool = tools[name]
        principal.require(tool.scope)
        return ToolResult(await tool.work(visit(), _read(tool, given)))
    except MainspringError as fault:
        return _refusal(fault)
    except Exception:  # outermost handler of this interface: one call must not end the session of others
        log.exception("tool failed", tool=name)
        return _refusal(MainspringError("internal error; see the server log"))


def _read(tool: Tool[A], given: dict[str, Any]) -> A:
    try:
        for name, value in given.items():
            _refuse_unstorable(name, value)
        return tool.arguments.model_validate(given)
    except ValidationError as fault:
        known = tuple(tool.arguments.model_fields)
        faults = [_in_words(each, known) for each in fault.errors()]
        more = f"; and {len(faults) - FAULTS_TOLD_MAX} more" if len(faults) > FAULTS_TOLD_MAX else ""
        raise InvalidInput(
            f"{tool.name}: {'; '.join(faults[:FAULTS_TOLD_MAX])}{more}",
            field=".".join(str(part) for part in fault.errors()[0]["loc"]),
        ) from None


def _refuse_unstorable(name: str, value: object) -> None:
    """JSON can represent text that no database can store."""
    match value:
        case str() if UNSTORABLE.search(value):
            raise InvalidInput(
                f"argument {shown(name)!r} contains a NUL or half a surrogate pair; these are not text, remove them",
                field=shown(name),
            )
        case dict():
            for key, each in value.items():
                _refuse_unstorable(name, key)
                _refuse_unstorable(name, each)
        case list():
            for each in value:
                _refuse_unstorable(name, each)
        case _:
            pass


def _in_words(fault: ErrorDetails, known: tuple[str, ...]) -> str:
    name = shown(".".join(str(part) for part in fault["loc"]))
    if fault["type"] == "missing":
        return f"argument {name!r} is missing"
    if fault["type"] == "extra_forbidden":
        near = did_you_mean(name, known) or f"; known arguments: {', '.join(known) or 'none'}"
        return f"unknown argument {name!r}{near}"
    if fault["loc"][0] in SECRET:  # a secret is never returned, not even to its sender
        return f"argument {name!r} is not as it should be; it maps names of headers to their values, which are text"
    if fault["type"] == "value_error":
        return f"argument {name!r}: {validation_message(fault['type'], fault['msg'], {})}"
    rule = validation_message(fault["type"], fault["msg"], fault.get("ctx", {}), fault["input"])
    return f"argument {name!r} is '{shown(fault['input'])}', and that {rule}"


def _refusal(fault: MainspringError) -> ToolResult:
    error: JsonObject = {"code": fault.code, "message": str(fault)}
    if isinstance(fault, InvalidInput):
        error["field"] = fault.field
    return ToolResult({"error": error}, is_error=True)


def _text(docstring: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (docstring or "").split("\n\n"))


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the titles that pydantic derives from names: they add nothing and cost tokens."""
    schema.pop("title", None)
    schema.pop("description", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
    return schema
