"""Decrypt and encrypt the secrets of workflow steps: the one place that reads them, around one call."""

from collections.abc import Mapping
from typing import cast
from urllib.parse import quote

from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import Outcome
from mainspring.ports.outbound import Vault
from mainspring.ports.workflows import Intent
from mainspring.workflow.step_secrets import (
    REFERENCE,
    find_secret,
    mapped_texts,
    reference,
    secret_context,
    without_secrets,
)


class StepSecrets:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def opened(self, intent: Intent) -> tuple[dict[str, object], tuple[str, ...]]:
        """The request with the decrypted secrets that its document names, and their values. Raises Misconfigured."""
        allowed = cast("list[str]", intent.request.get("opens") or [])
        if not allowed:
            return intent.request, ()
        values: list[str] = []

        def fill(text: str, *, is_url: bool) -> str:
            parts, end = [], 0
            for found in REFERENCE.finditer(text):
                if found[1] not in allowed:
                    continue
                context = secret_context(intent.tenant_id, intent.execution_id, found[1])
                value = self._vault.open(found[2], context)
                values.append(value)
                parts += [text[end : found.start()], quote(value, safe="") if is_url else value]
                end = found.end()
            return "".join([*parts, text[end:]])

        request = {
            name: mapped_texts(value, lambda text, name=name: fill(text, is_url=name == "url"))  # type: ignore[misc]  # bound now
            for name, value in intent.request.items()
        }
        return request, tuple(dict.fromkeys(values))

    def sealed(self, intent: Intent, outcome: Outcome, result: dict[str, object]) -> dict[str, object]:
        """The result with references in place of the secrets that the step obtains. Raises InvalidInput if the
        response has no such secret.
        """
        sources = cast("Mapping[str, str]", intent.request.get("secrets") or {})
        if not sources:
            return result
        headers = {name.lower(): value for name, value in outcome.headers}
        found: dict[str, str] = {}
        for name, source in sources.items():
            value = find_secret(source, headers, result["body"])
            if value is None:
                raise InvalidInput(
                    f"the response has no text at {source}, which secrets.{name} names; correct the source",
                    field="secrets",
                )
            found[name] = value
        body = without_secrets(result["body"], sources, list(found.values()))
        references = {name: self._seal(intent, f"{intent.step}.{name}", value) for name, value in found.items()}
        return {**result, "body": body, "secrets": references}

    def _seal(self, intent: Intent, name: str, value: str) -> str:
        return reference(name, self._vault.seal(value, secret_context(intent.tenant_id, intent.execution_id, name)))
