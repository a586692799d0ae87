"""Secrets by reference: `${env:NAME}`, `${file:/path}` and `${stored}` in header values.

The first two are read where the document is applied, and only where that is somebody who may: a document that came over
the network names no files of this machine. `${stored}` is what an export writes in place of a secret: it keeps the
value that the database has. `$${` is a plain `${`. No message and no plan ever shows what a reference led to.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

STORED = "${stored}"
FILE_BYTES_MAX = 64_000
KINDS = ("env", "file", "stored")
_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^}]*)\}|\$\{")

Resolver = Callable[[str, str], str]  # kind and name to the secret; raises ValueError that says why not


def has_reference(text: str) -> bool:
    return any(found[1] is None for found in _REFERENCE.finditer(text))


def escaped(text: str) -> str:
    """Plain text as it is written in a document, where `${` would begin a reference."""
    return text.replace("${", "$${")


def resolved(text: str, resolve: Resolver) -> str:
    """The text with every reference replaced; raises ValueError about the first that cannot be."""

    def replaced(found: re.Match[str]) -> str:
        if found[1] is not None:
            return "${"
        if found[2] is None:
            raise ValueError("`${` has no `}`; write ${env:NAME} or ${file:/path}, or $${ for a plain ${")
        kind, colon, name = found[2].partition(":")
        if found[2] == "stored":
            raise ValueError(f"{STORED} stands for a whole value; write nothing beside it")
        if kind not in ("env", "file") or not colon or not name:
            raise ValueError(
                f"unknown reference ${{{found[2][:60]}}}; write ${{env:NAME}}, ${{file:/path}} or {STORED}, "
                "or $${ for a plain ${"
            )
        return resolve(kind, name)

    return _REFERENCE.sub(replaced, text)


def local(environment: Mapping[str, str]) -> Resolver:
    """References as whoever runs this process may read them."""

    def resolve(kind: str, name: str) -> str:
        if kind == "env":
            if name not in environment:
                raise ValueError(f"the environment variable {name} is not set; set it where this is applied")
            return environment[name]
        path = Path(name)
        if not path.is_absolute():
            raise ValueError(f"{name} is not an absolute path; write ${{file:/path}}")
        try:
            with path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
            text = data.decode()
        except OSError as fault:
            raise ValueError(f"{name} cannot be read: {fault.strerror}; check that it exists and is readable") from None
        except UnicodeDecodeError:
            raise ValueError(f"{name} is not UTF-8 text; a header's value is text") from None
        if len(data) > FILE_BYTES_MAX:
            raise ValueError(f"{name} has more than {FILE_BYTES_MAX:,} bytes; that is no header's value")
        return text.rstrip("\r\n")

    return resolve


def references_in(text: str, resolve: Resolver) -> dict[str, str]:
    """What the references of a text stand for here, to be sent with it; those that lead nowhere are left out."""
    found: dict[str, str] = {}
    for match in _REFERENCE.finditer(text):
        kind, _, name = (match[2] or "").partition(":")
        if kind in ("env", "file") and name:
            with suppress(ValueError):
                found[match[2]] = resolve(kind, name)
    return found


def sent(references: Mapping[str, str]) -> Resolver:
    """References in a document that came over the network: those whose values came with it, and no others."""

    def resolve(kind: str, name: str) -> str:
        if f"{kind}:{name}" not in references:
            raise ValueError(
                f"${{{kind}:{name[:60]}}} is not read on the server for a document that was sent to it; set it where "
                f"`mainspring apply` runs, send its value in `references`, or write {STORED} to keep the one it has"
            )
        return references[f"{kind}:{name}"]

    return resolve
