"""The largest and worst requests that each operation may be sent, made from the OpenAPI document.

A body begins as one that is accepted (`tests/api/every.py`). Then each field of its schema, alone and all together,
is made as large as its own bounds and the limit for bodies of its path let through: long text, long lists, objects
with many and with deep values, every kind of hostile document where a document is wanted, long expressions where one
is. Queries and headers go to their bounds too, and paths name the largest thing of their kind.
"""

import json
from collections.abc import Iterator, Mapping

from mainspring.api.middleware import _body_max
from mainspring.api.strict_json import DEPTH_MAX, VALUES_MAX
from tests.api.acting import URL, Json
from tests.api.every import BODIES, NAMED_OTHERWISE, Operation

FLOW_MAX = 500_000  # characters of a workflow's document
SPARE = 2_000  # bytes for the rest of a body
EXPRESSION = "body.items.exists(x, x.n == 1) || " + " || ".join(f"body.field{n} == {n}" for n in range(75))
SHORTER = "body.items.exists(x, x.n == 1) || " + " || ".join(f"body.field{n} == {n}" for n in range(30))
FLOWS = ("valid", "deep", "quoted", "aliases", "large")
SCENARIO = (
    "title: long\nminutes: 100000\nendpoints:\n"
    + "".join(f"  e{n}: {{every: 1s}}\n" for n in range(60))
    + "curve: [{from: 0, to: 100000, phase: a, measured: {x: 1}}]\n"
)


class Sent:
    """One request: what to add to the path, and what to send."""

    def __init__(
        self, kind: str, body: object = None, query: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        self.kind = kind
        self.content = None if body is None else json.dumps(body).encode()
        self.query = query
        self.headers = {"Content-Type": "application/json", **(headers or {})}


def worst_of(operation: Operation, document: Json, applied: int, *, thorough: bool) -> Iterator[Sent]:
    """Of the bodies that differ in one field only, those of documents and lists unless `thorough`."""
    query, headers = largest_query(operation), largest_headers(operation)
    accepted = BODIES.get(operation.id)
    schema = body_schema(operation, document)
    if schema is None:
        yield Sent("largest query", accepted, query, headers)
        if thorough:
            yield Sent("no query", accepted)
            for each in enumerated(operation):
                yield Sent(each, accepted, each)
        return
    body = dict(accepted or {})
    most = _body_max(operation.path) - SPARE
    fields = {name: resolved(each, document) for name, each in schema.get("properties", {}).items()}
    yield Sent("accepted", body, query)
    for name, field in fields.items():
        for number, value in enumerate(largest_values(operation, name, field, document, most, applied)):
            if thorough or number > 0 or isinstance(value, list | dict) or name in ("document", "files"):
                yield Sent(f"{name} {number}", fitting(body, name, value), "", headers)
    if thorough:
        share = most // max(1, len(fields))
        together = {
            name: next(iter(largest_values(operation, name, field, document, share, applied)), None)
            for name, field in fields.items()
        }
        yield Sent("everything", together)
    yield Sent("unknown fields", {**body, **{f"unknown{n}": 1 for n in range(VALUES_MAX // 4)}})
    if thorough:
        yield Sent("many values", {**body, "x": [[]] * (VALUES_MAX - 1_000)})
        yield Sent("deep value", {**body, "x": nested(DEPTH_MAX - 2)})


def largest_values(
    operation: Operation, name: str, field: Json, document: Json, most: int, applied: int
) -> Iterator[object]:
    if name == "document" and operation.id == "apply_config":
        yield from (config(kind, applied)[:900_000] for kind in ("many", "secrets", "rules", "merge", *FLOWS[:-1]))
    elif name == "document" and operation.id == "run_simulation":
        yield SCENARIO[:100_000]
        yield flow("aliases")[:100_000]
    elif name == "document":
        # Every route reads a document with the same parser: the one that takes it seconds is sent once.
        yield from (flow(kind) for kind in (FLOWS if operation.id == "check_workflow" else FLOWS[:-1]))
    elif name == "files":
        yield [{"name": f"{n}.yaml", "content": "endpoints: {}"} for n in range(1_000)]
    elif name in ("rules",):
        yield [{"when": EXPRESSION, "interval": "30s", "name": f"r{n}"} for n in range(50)]
        yield [{"when": "ok", "interval": "30s", "reason": "x" * 999} for _ in range(50)]
    elif name == "rule":
        yield {"when": EXPRESSION, "interval": "30s"}
        yield {"when": "(" * 900 + "ok" + ")" * 900, "interval": "30s"}
    elif name == "condition":
        yield EXPRESSION
    else:
        yield from of_schema(field, document, most)


def of_schema(field: Json, document: Json, most: int) -> Iterator[object]:
    kinds = [resolved(each, document) for each in field.get("anyOf") or field.get("oneOf") or [field]]
    for kind in kinds:
        match kind.get("type"):
            case "string" if "enum" in kind:
                yield kind["enum"][-1]
            case "string":
                yield "x" * min(kind.get("maxLength", most), most)
            case "integer" | "number":
                yield kind.get("maximum", 2**62)
            case "array":
                item = next(of_schema(resolved(kind.get("items", {}), document), document, 200), None)
                size = len(json.dumps(item)) + 2
                count = min(kind.get("maxItems", VALUES_MAX), most // size, VALUES_MAX // (2 * values_in(item)) - 10)
                yield [item] * max(1, count)
            case "object" if kind.get("properties"):
                given = {
                    name: next(of_schema(resolved(each, document), document, 200), None)
                    for name, each in kind["properties"].items()
                    if name in kind.get("required", ())
                }
                yield given
                yield given | {
                    name: value
                    for name, each in kind["properties"].items()
                    for value in list(of_schema(resolved(each, document), document, most))[:1]
                }
            case "object":
                yield {f"key {n}": n for n in range(min(VALUES_MAX // 2 - 100, most // 24))}
                yield {"text": "x" * min(60_000, most)}
                yield {"deep": nested(DEPTH_MAX - 6)}
            case _:
                yield None


def nested(depth: int) -> object:
    value: object = 1
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


def values_in(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(values_in, value.values()))
    return 1 + sum(map(values_in, value)) if isinstance(value, list) else 1


def fitting(body: Json, name: str, value: object) -> Json:
    changed = {**body, name: value}
    if name == "files":
        changed.pop("document", None)
    return changed


def resolved(schema: Json, document: Json) -> Json:
    while "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return resolved(choices[0], document) if len(choices) == 1 else schema


def body_schema(operation: Operation, document: Json) -> Json | None:
    content = operation.described.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None
    return resolved(content["application/json"]["schema"], document)


def largest_query(operation: Operation) -> str:
    parts = []
    for each in operation.described.get("parameters", ()):
        schema = each.get("schema", {})
        if each["in"] == "query" and each["name"] not in ("dry_run", "wait", "cursor"):
            if each["name"] in ("limit", "hours", "count"):
                parts.append(f"{each['name']}={schema.get('maximum', 200)}")
            elif each.get("required"):
                parts += [f"{each['name']}={{endpoint}}"] * schema.get("maxItems", 1)
    return "?" + "&".join(parts) if parts else ""


def enumerated(operation: Operation) -> Iterator[str]:
    """One query for each value of each choice, and for each text at its longest."""
    for each in operation.described.get("parameters", ()):
        if each["in"] != "query" or each["name"] in ("dry_run", "wait"):
            continue
        schema = each.get("schema", {})
        for kind in (schema, *schema.get("anyOf", ())):
            for value in kind.get("enum", ()):
                yield f"?{each['name']}={value}"
            if kind.get("type") == "string" and "maxLength" in kind:
                yield f"?{each['name']}={'x' * kind['maxLength']}"
            if kind.get("type") == "integer" and "maximum" in kind:
                yield f"?{each['name']}={kind['maximum']}"


def largest_headers(operation: Operation) -> dict[str, str]:
    return (
        {"If-Match": '"' + "x" * 900 + '"'} if "If-Match" in operation.in_header and operation.method != "post" else {}
    )


def path_of(operation: Operation, ids: Mapping[str, str]) -> str:
    named = NAMED_OTHERWISE.get(operation.id, {})
    return operation.path.format(**{name: ids.get(named.get(name, name), "none") for name in operation.in_path})


def steps(count: int, name: str = "waits") -> str:
    return f"name: {name}\nsteps:\n" + "".join(
        f"  - {{id: s{n}, set: {{a: {n}, b: 'vars.a + {n}'}}}}\n" for n in range(count)
    )


def flow(kind: str) -> str:
    if kind == "large":
        return steps(12_000)[:FLOW_MAX]
    if kind == "valid":
        return steps(1_000)
    if kind == "deep":
        return "a: " + "[" * (FLOW_MAX - 10)
    if kind == "quoted":
        return 'a: "' + "\\x41" * 120_000
    return "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9) if n else 1}]" for n in range(60))


def config(kind: str, applied: int) -> str:
    if kind == "merge":
        lines = ["x-0: &a0 {k: 1}"]
        lines += [f"x-{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 20)]
        return "\n".join(lines)
    if kind == "many":
        return endpoints(applied)
    if kind == "secrets":
        return "endpoints:\n" + "".join(
            f"  s{n}: {{url: '{URL}{n}', every: 1h, headers: {{A: {{secret: 's{n}'}}, B: {{secret: 't{n}'}}}}}}\n"
            for n in range(applied // 3)
        )
    if kind == "rules":
        rule = f'{{when: "{SHORTER}", interval: 1m}}'
        return "endpoints:\n" + "".join(
            f"  r{n}: {{url: '{URL}{n}', every: 1h, rules: [{', '.join([rule] * 5)}]}}\n" for n in range(applied // 20)
        )
    return flow(kind)


def endpoints(count: int, first: int = 0) -> str:
    numbers = range(first, first + count)
    return "endpoints:\n" + "".join(f"  e{n}: {{url: '{URL}{n}', every: 1h}}\n" for n in numbers)
