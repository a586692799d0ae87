"""Secrets by reference: `${env:NAME}`, `${file:/path}` and `${stored}` in header values.

The first two are resolved where the document is applied, and only for local users: a document received over the network
cannot read files of this machine. `${stored}`, written by an export in place of a secret, keeps the stored value. `$${`
is a literal `${`. The rule that must not break: no message and no plan shows the value of a reference.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

STORED = "${stored}"
FILE_BYTES_MAX = 64_000
KINDS = ("env", "file", "stored")
_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^}]*)\}|\$\{")

Resolver = Callable[[str, str], str]  # kind and name to the secret; raises ValueError with the reason


def has_reference(text: str) -> bool:
    return any(found[1] is None for found in _REFERENCE.finditer(text))


def escaped(text: str) -> str:
    """Literal text as written in a document, where `${` would start a reference."""
    return text.replace("${", "$${")


def resolved(text: str, resolve: Resolver) -> str:
    """The text with every reference replaced. Raises ValueError about the first one that cannot be resolved."""

    def replaced(found: re.Match[str]) -> str:
        if found[1] is not None:
            return "${"
        if found[2] is None:
            raise ValueError("`${` has no `}`; write ${env:NAME} or ${file:/path}, or $${ for a plain ${")
        kind, colon, name = found[2].partition(":")
        if found[2] == "stored":
            raise ValueError(f"{STORED} replaces a whole value; remove the text around it")
        if kind not in ("env", "file") or not colon or not name:
            raise ValueError(
                f"unknown reference ${{{found[2][:60]}}}; write ${{env:NAME}}, ${{file:/path}} or {STORED}, "
                "or $${ for a plain ${"
            )
        return resolve(kind, name)

    return _REFERENCE.sub(replaced, text)


def local(environment: Mapping[str, str]) -> Resolver:
    """Resolves references with the permissions of this process."""

    def resolve(kind: str, name: str) -> str:
        if kind == "env":
            if name not in environment:
                raise ValueError(f"the environment variable {name} is not set; set it where the document is applied")
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
            raise ValueError(f"{name} has more than {FILE_BYTES_MAX:,} bytes, which is too long for a header")
        return text.rstrip("\r\n")

    return resolve


def references_in(text: str, resolve: Resolver) -> dict[str, str]:
    """The values of the references in a text, to be sent with it; unresolvable ones are left out."""
    found: dict[str, str] = {}
    for match in _REFERENCE.finditer(text):
        kind, _, name = (match[2] or "").partition(":")
        if kind in ("env", "file") and name:
            with suppress(ValueError):
                found[match[2]] = resolve(kind, name)
    return found


def sent(references: Mapping[str, str]) -> Resolver:
    """References in a document received over the network: only those whose values came with it."""

    def resolve(kind: str, name: str) -> str:
        if f"{kind}:{name}" not in references:
            raise ValueError(
                f"${{{kind}:{name[:60]}}} is not resolved on the server for a document that was sent to it; "
                f"set it where `mainspring apply` runs, send its value in `references`, or write {STORED} "
                "to keep the stored one"
            )
        return references[f"{kind}:{name}"]

    return resolve
