"""Documents: read files section by section, and their JSON Schema for editors.

source: billing          the name under which it manages its entries; default: the name of the file
connections: {...}
jobs: {...}              with their rules
endpoints: {...}         with their rules
alerts: {...}
webhooks: {...}
workflows: {...}
x-anything: ...          ignored: a place for anchors
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from unicodedata import normalize

from msgspec import Struct, field
from pydantic import ValidationError
from pydantic.json_schema import models_json_schema

from mainspring.documents.entries import DocumentEntry
from mainspring.documents.faults import DocumentFault, InvalidDocument
from mainspring.documents.plan import WantedEntry
from mainspring.documents.sections import SECTIONS
from mainspring.documents.yaml_reader import Path, Tree, read_documents
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import check_name
from mainspring.domain.name import shown as text_shown
from mainspring.domain.validation_message import validation_message

KEYS = ("source", *(section.key for section in SECTIONS))
STDIN = "stdin"
_KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
_WANTED = {
    "string_type": "text: put it in quotes",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "list_type": "a list",
    "model_type": "a mapping",
    "dict_attributes_type": "a mapping",
}


class Documents(Struct):
    """The entries of several files, by section; `sources` are those that manage entries.

    Documents with errors are planned too, as far as they can be read, so that all errors are reported together.
    """

    faults: list[DocumentFault] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    wanted: dict[str, dict[str, WantedEntry]] = field(default_factory=lambda: {section.key: {} for section in SECTIONS})


def parse_documents(files: Sequence[tuple[str, bytes]], source: str | None = None) -> Documents:
    """Reads files, given by name and content. Each is read to its end, regardless of its errors.

    `source` is for documents that name none; default: the name of each file without directory and extension.
    """
    documents = Documents()
    faults = documents.faults
    for file, data in files:
        try:
            trees = read_documents(file, data)
        except InvalidDocument as refused:
            faults.extend(refused.faults)
            continue
        for tree in trees:
            _parse(tree, source if source is not None else own_source(file), documents, faults)
    return documents


def own_source(file: str) -> str:
    return PurePath(file).stem or STDIN


def json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, of one document."""
    models = [section.entry for section in SECTIONS]
    references, definitions = models_json_schema([(model, "validation") for model in models])
    properties: dict[str, Any] = {
        "source": {
            "type": ["string", "null"],
            "description": "The name under which this document manages its entries; default: the name of the "
            "file. With null it describes without managing.",
        }
    }
    for section in SECTIONS:
        properties[section.key] = {
            "type": ["object", "null"],
            "description": f"{section.key.capitalize()} by name.",
            "additionalProperties": references[section.entry, "validation"],
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Mainspring configuration",
        "description": "Configuration of Mainspring as code; `mainspring apply FILE` applies it.",
        "type": "object",
        "properties": properties,
        "patternProperties": {"^x-": {"description": "Ignored: a place for anchors."}},
        "additionalProperties": False,
        **definitions,
    }


def _parse(tree: Tree, default_source: str, documents: Documents, faults: list[DocumentFault]) -> None:
    if tree.value is None:
        return
    if not isinstance(tree.value, dict):
        what = _KINDS.get(type(tree.value), "a value")
        faults.append(DocumentFault(tree.at(()), f"a document is a mapping with {_named(KEYS)}, and this is {what}"))
        return
    for key in tree.value:
        if key not in KEYS and not key.startswith("x-"):
            faults.append(DocumentFault(tree.key((key,)), f"unknown key {key!r}{_suggestion(key, KEYS)}"))
    source = _source(tree, default_source, faults)
    if source is not None:
        documents.sources.add(source)
    for section in SECTIONS:
        entries = tree.value.get(section.key)
        if entries is None:
            continue
        if not isinstance(entries, dict):
            faults.append(
                DocumentFault(
                    tree.at((section.key,)), f"{section.key} are given by name: `{section.key}: {{NAME: ...}}`"
                )
            )
            continue
        for name, value in entries.items():
            wanted = _entry(tree, section.entry, (section.key, name), value, source, faults)
            if wanted is not None:
                _add(documents.wanted[section.key], wanted, faults)


def _source(tree: Tree, default: str, faults: list[DocumentFault]) -> str | None:
    assert isinstance(tree.value, dict)
    given = tree.value.get("source", default)
    if given is None:
        return None
    try:
        return check_name(given, field="source", kind="configuration")
    except InvalidInput as fault:
        faults.append(DocumentFault(tree.at(("source",)), str(fault)))
        return None


def _entry(
    tree: Tree, model: type[DocumentEntry], path: Path, value: object, source: str | None, faults: list[DocumentFault]
) -> WantedEntry | None:
    try:
        entry = model.model_validate({} if value is None else value)
    except ValidationError as refused:
        errors = refused.errors(include_url=False)
        faults.extend(_fault(tree, model, path, error) for error in errors)
        bad = {str(error["loc"][0]) for error in errors if error["loc"]}
        if not isinstance(value, dict):
            return None
        entry = model.model_validate(model.repaired({key: each for key, each in value.items() if key not in bad}, bad))
    return WantedEntry(normalize("NFC", str(path[-1])).strip(), entry, source, tree, path)


def _add(wanted: dict[str, WantedEntry], new: WantedEntry, faults: list[DocumentFault]) -> None:
    if other := wanted.get(new.name):
        faults.append(DocumentFault(new.place, f"{new.name!r} is described twice; the first time at {other.place}"))
    else:
        wanted[new.name] = new


def _fault(tree: Tree, model: type[DocumentEntry], path: Path, error: Any) -> DocumentFault:
    where: Path = (*path, *error["loc"])
    key = str(where[-1])
    kind = error["type"]
    if kind == "extra_forbidden":
        known = tuple(model.model_fields) if len(error["loc"]) == 1 else _known_within(model, str(error["loc"][0]))
        return DocumentFault(tree.key(where), f"unknown key {key!r}{_suggestion(key, known)}")
    if kind == "missing":
        return DocumentFault(tree.key(path), f"{str(path[-1])!r} has no `{key}`; it needs one")
    place = tree.at(where).masked() if "headers" in error["loc"] else tree.at(where)
    shown = key if len(where) > len(path) else str(path[-1])
    if isinstance(where[-1], int):
        shown = f"{where[-2]} '{text_shown(error['input'])}'"  # an item of a list
    if kind in _WANTED:
        what = _KINDS.get(type(error["input"]), "nothing" if error["input"] is None else "that")
        return DocumentFault(place, f"{shown} is {what}; it must be {_WANTED[kind]}")
    return DocumentFault(
        place, f"{shown} {validation_message(kind, str(error['msg']), error.get('ctx', {}), error['input'])}"
    )


def _known_within(model: type[DocumentEntry], key: str) -> tuple[str, ...]:
    """The keys of a group of settings, or of a header."""
    parts = next((field.parts for field in getattr(model, "settings", ()) if field.key == key), ())
    return tuple(part.key for part in parts) or ("value", "secret")


def _suggestion(name: str, known: tuple[str, ...]) -> str:
    return did_you_mean(name, known) or f"; known keys are {_named(known)}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names)
