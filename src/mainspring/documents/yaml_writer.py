"""Write plain values as readable YAML that reads back as the same values."""

import io

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

WIDTH = 4096  # a line of text stays one line, so that diffs show what changed
NULL = "tag:yaml.org,2002:null"


def as_yaml(documents: list[dict[str, object]]) -> str:
    yaml = YAML(typ="rt")
    yaml.width = WIDTH
    yaml.allow_unicode = True
    yaml.explicit_start = len(documents) > 1
    out = io.StringIO()
    yaml.representer.add_representer(type(None), lambda representer, _: representer.represent_scalar(NULL, "null"))
    yaml.dump_all([_prepared(document) for document in documents], out)
    return out.getvalue()


def _prepared(value: object) -> object:
    """Text of several lines as a readable block."""
    if isinstance(value, dict):
        return {key: _prepared(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_prepared(each) for each in value]
    if isinstance(value, str) and "\n" in value and "\r" not in value and not value.startswith((" ", "\n")):
        return LiteralScalarString(value)
    return value
