"""The database as documents: one for each source, in a stable order, without what is so by default.

Applying an export changes nothing. A secret is not in it: `${stored}` stands in its place, and keeps what is there.
"""

import io

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from mainspring.configuration.sections import SECTIONS
from mainspring.operations.endpoints import Desk

WIDTH = 4096  # a line of text stays one line: diffs show what changed


async def export_documents(desk: Desk, source: str | None = None) -> list[dict[str, object]]:
    """What every source manages, and first what none does (`source: null`); or only what `source` manages."""
    found: dict[str, dict[str, object]] = {}
    for section in SECTIONS:
        for exported in sorted(await section.export(desk), key=lambda each: each.name):
            if source is not None and exported.source != source:
                continue
            document = found.setdefault(exported.source, {"source": exported.source or None})
            entries = document.setdefault(section.key, {})
            assert isinstance(entries, dict)
            entries[exported.name] = exported.entry
    return [found[name] for name in sorted(found)]


def as_yaml(documents: list[dict[str, object]]) -> str:
    yaml = YAML(typ="rt")
    yaml.width = WIDTH
    yaml.allow_unicode = True
    yaml.explicit_start = len(documents) > 1
    out = io.StringIO()
    yaml.representer.add_representer(type(None), lambda representer, _: representer.represent_scalar(NULL, "null"))
    yaml.dump_all([_prepared(document) for document in documents], out)
    return out.getvalue()


NULL = "tag:yaml.org,2002:null"


def _prepared(value: object) -> object:
    """Text of several lines as a block, which people can read."""
    if isinstance(value, dict):
        return {key: _prepared(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_prepared(each) for each in value]
    if isinstance(value, str) and "\n" in value and "\r" not in value and not value.startswith((" ", "\n")):
        return LiteralScalarString(value)
    return value
