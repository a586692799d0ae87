"""Write the Python client and the web UI's labels from the OpenAPI document: `python -m tools.reference` does it.

The API is said once, by its routes. `client/table.py` is what the client looks its methods up in, `client/groups.pyi`
what a type checker knows of them; a test fails when either is not what this would write.
"""

import json
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from mainspring import __version__
from mainspring.api import schema
from mainspring.api.app import PREFIX, ROUTERS
from mainspring.client.operation import Operation

Document = dict[str, Any]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "src" / "mainspring" / "client"
LABELS = ROOT / "web" / "src" / "words" / "labels.json"
METHODS = ("get", "post", "put", "patch", "delete")
WIDTH = 116
JSON, EVENTS = "application/json", "text/event-stream"


def files() -> dict[Path, str]:
    """Every written file with its text."""
    document = api_document()
    found = list(operations(document))
    return {
        FOLDER / "table.py": _table(found),
        FOLDER / "groups.pyi": _stub(document, found),
        LABELS: json.dumps(document["x-labels"], indent=2, ensure_ascii=False) + "\n",
    }


def api_document() -> Document:
    """The document of a server, without one."""
    app = FastAPI(title="Mainspring", version=__version__, generate_unique_id_function=schema.operation_id)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX)
    return schema.document(app)


def operations(document: Document) -> Iterator[Operation]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield _operation(document, path, method, item[method])


def _operation(document: Document, path: str, method: str, said: Document) -> Operation:
    group = re.sub(r"\W", "_", (said.get("tags") or ["system"])[0])
    parameters = said.get("parameters", [])
    places = {each["name"]: each["name"].replace("-", "_").lower() for each in parameters}
    query = tuple(places[each["name"]] for each in parameters if each["in"] == "query")
    body = _body(document, said)
    answer, content = _answer(said)
    return Operation(
        group,
        _name(said["operationId"], group),
        said["operationId"],
        method.upper(),
        path,
        query,
        tuple(places[each["name"]] for each in parameters if each["in"] == "header"),
        tuple(_properties(document, body)) if body else (),
        answer,
        _is_paged(document, said["operationId"], query, content),
    )


def _is_paged(document: Document, operation_id: str, query: tuple[str, ...], content: Document) -> bool:
    """Whether it has a last page. Events never end: a client that needs all of them reads the stream."""
    has_pages = "cursor" in query and {"items", "next_cursor"} <= set(_properties(document, content))
    return has_pages and operation_id != "list_events"


def _name(operation_id: str, group: str) -> str:
    """`pause_endpoint` is `endpoints.pause`: what the group says already is left out."""
    said = {group, group.removesuffix("s"), group.removesuffix("es")}
    said |= {word for name in said for word in name.split("_")}
    words = operation_id.split("_")
    kept = [words[0], *(word for word in words[1:] if word not in said)]
    return "_".join(kept)


def _body(document: Document, said: Document) -> Document:
    content = said.get("requestBody", {}).get("content", {})
    given: Document = content.get(JSON, {}).get("schema", {})
    return next((each for each in given.get("anyOf", [given]) if each.get("type") != "null"), {})


def _answer(said: Document) -> tuple[Any, Document]:
    for status, response in said["responses"].items():
        if status.startswith("2"):
            content = response.get("content", {})
            if EVENTS in content:
                return "stream", {}
            if JSON in content:
                given = content[JSON].get("schema", {})
                return "json", given
            return ("bytes" if content else "nothing"), {}
    return "nothing", {}


def _resolved(document: Document, given: Document) -> Document:
    while "$ref" in given:
        given = document["components"]["schemas"][given["$ref"].rpartition("/")[2]]
    return given


def _properties(document: Document, given: Document) -> Document:
    properties: Document = _resolved(document, given).get("properties", {})
    return properties


def _table(found: list[Operation]) -> str:
    lines = [
        '"""Every operation of the API, written from its document by `make docs`; edits are overwritten."""',
        "",
        "from mainspring.client.operation import Operation",
        "",
        "# fmt: off",
        "OPERATIONS = (",
    ]
    for each in found:
        extras = {
            "query": each.query,
            "headers": each.headers,
            "body": each.body,
            "answer": each.answer,
            "is_paged": each.is_paged,
        }
        first = f'    Operation("{each.group}", "{each.name}", "{each.id}", "{each.method}"'
        said = [f'"{each.path}"']
        said += [f"{name}={_quoted(value)}" for name, value in extras.items() if value not in ((), "json", False)]
        lines.extend(_wrapped(first, said))
    return "\n".join([*lines, ")", ""])


def _wrapped(first: str, said: list[str]) -> Iterator[str]:
    line = first
    for part in said:
        for piece in _pieces(part):
            joint = ", " if piece is part or "=" in piece else " "
            if len(line) + len(piece) + 2 > WIDTH:
                yield f"{line}{joint.strip()}"
                line = f"              {piece}"
            else:
                line += f"{joint}{piece}"
    yield f"{line}),"


def _pieces(part: str) -> list[str]:
    """A part of a call, cut after commas where it is long."""
    if len(part) < WIDTH - 20:
        return [part]
    words = part.split(", ")
    rows: list[str] = []
    for number, word in enumerate(words):
        text = word + ("," if number < len(words) - 1 else "")
        if rows and len(rows[-1]) + len(text) < WIDTH - 20:
            rows[-1] += f" {text}"
        else:
            rows.append(text)
    return rows


def _quoted(value: object) -> str:
    if isinstance(value, tuple):
        inside = ", ".join(f'"{each}"' for each in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _stub(document: Document, found: list[Operation]) -> str:
    lines = [
        "# What the methods of a client take and give; written from the API's document by `make docs`.",
        "",
        "from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence",
        "from typing import Any, Dict, List, Literal, NotRequired, TypedDict, Union, overload",
        "",
    ]
    for name, given in document["components"]["schemas"].items():
        lines.extend(_typed_dict(document, name, given))
    groups = list(dict.fromkeys(each.group for each in found))
    for is_async in (False, True):
        for group in groups:
            lines.append(f"class {_class(group, is_async)}:")
            for each in found:
                if each.group == group:
                    said = document["paths"][each.path][each.method.lower()]
                    lines.extend(_signatures(document, each, said, is_async))
            lines.append("")
        lines.append(f"class {'Async' if is_async else ''}Groups:")
        lines.extend(f"    {group}: {_class(group, is_async)}" for group in groups)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _class(group: str, is_async: bool) -> str:
    return ("Async" if is_async else "") + "".join(word.capitalize() for word in group.split("_")) + "Group"


def _typed_dict(document: Document, name: str, given: Document) -> Iterator[str]:
    if "properties" not in given:
        yield f"{_type_name(name)} = {_type(given)}"
        yield ""
        return
    required = set(given.get("required", ()))
    fields = {
        field: _type(each) if field in required else f"NotRequired[{_type(each)}]"
        for field, each in given["properties"].items()
    }
    if any(not field.isidentifier() or keyword.iskeyword(field) for field in fields):
        inside = ", ".join(f'"{field}": {kind}' for field, kind in fields.items())
        yield f'{_type_name(name)} = TypedDict("{_type_name(name)}", {{{inside}}})'
    else:
        yield f"class {_type_name(name)}(TypedDict):"
        yield from (f"    {field}: {kind}" for field, kind in fields.items())
        if not fields:
            yield "    ..."
    yield ""


def _signatures(document: Document, each: Operation, said: Document, is_async: bool) -> Iterator[str]:
    places = [f"{name}: str" for name in each.in_path]
    named = dict(_keywords(document, each, said))
    _, content = _answer(said)
    kinds = {"json": _type(content) if content else "Any", "bytes": "bytes", "nothing": "None", "stream": "Any"}
    answer = kinds[each.answer]
    iterator = "AsyncIterator" if is_async else "Iterator"
    if each.answer == "stream":
        yield _signature(each.name, places, named, f"{iterator}[Any]")
        return
    for mark, keywords, kind in _variants(content, named, answer):
        if mark:
            yield f"    {mark}"
        yield _signature(each.name, places, keywords, f"Coroutine[Any, Any, {kind}]" if is_async else kind)
    if each.is_paged:
        items = _type(_properties(document, content)["items"]).removeprefix("List[").removesuffix("]")
        yield _signature(each.name.replace("list", "iterate", 1), places, named, f"{iterator}[{items}]")


def _variants(content: Document, named: dict[str, str], answer: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """A write answers with the thing itself or, with `dry_run`, with what would change: two signatures."""
    choices = [_type(each) for each in content.get("anyOf", [])]
    if "dry_run" not in named or len(choices) != 2:
        yield "", named, answer
        return
    yield "@overload", named | {"dry_run": "dry_run: Literal[False] = ..."}, choices[0]
    yield "@overload", named | {"dry_run": "dry_run: Literal[True]"}, choices[1]


def _signature(name: str, places: list[str], named: dict[str, str], answer: str) -> str:
    given = [*places, "*", *named.values()] if named else places
    return f"    def {name}({', '.join(['self', *given])}) -> {answer}: ..."


def _keywords(document: Document, each: Operation, said: Document) -> Iterator[tuple[str, str]]:
    body = _body(document, said)
    required = set(_resolved(document, body).get("required", ())) if body else set()
    for name, given in (_properties(document, body) if body else {}).items():
        kind = _type(given, is_input=True)
        argument = f"{name}_" if keyword.iskeyword(name) else name
        yield name, f"{argument}: {kind}" if name in required else f"{argument}: {kind} = ..."
    for parameter in said.get("parameters", []):
        if parameter["in"] != "path":
            name = parameter["name"].replace("-", "_").lower()
            kind = _type(parameter["schema"], is_input=True)
            if (each.id, name) == ("run_endpoint", "wait"):
                kind = "bool | int | str"
            yield name, f"{name}: {kind} = ..."


def _type(given: Document, is_input: bool = False) -> str:
    """A JSON Schema as a Python type; what is given to a call may be any mapping or sequence."""
    if "$ref" in given:
        return _type_name(given["$ref"].rpartition("/")[2])
    if "const" in given or "enum" in given:
        values = [given["const"]] if "const" in given else given["enum"]
        return f"Literal[{', '.join(repr(value) for value in values)}]"
    if choices := given.get("anyOf") or given.get("oneOf"):
        return f"Union[{', '.join(dict.fromkeys(_type(each, is_input) for each in choices))}]"
    match given.get("type"):
        case "array":
            kind = "Sequence" if is_input else "List"
            if "prefixItems" in given:
                return f"{kind}[Any]"
            return f"{kind}[{_type(given.get('items', {}), is_input)}]"
        case "object":
            extra = given.get("additionalProperties", True)
            inside = _type(extra, is_input) if isinstance(extra, dict) else "Any"
            return f"{'Mapping' if is_input else 'Dict'}[str, {inside}]"
        case kind:
            return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(
                str(kind), "Any"
            )


def _type_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")
