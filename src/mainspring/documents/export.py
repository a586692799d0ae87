"""Export the database as documents: one per source, in a stable order, without defaults.

Applying an export changes nothing. Secrets are replaced by `${stored}`, which keeps the stored value.
"""

from mainspring.documents.sections import SECTIONS
from mainspring.operations.context import Desk


async def export_documents(desk: Desk, source: str | None = None) -> list[dict[str, object]]:
    """The entries of every source, first those without a source (`source: null`); or only those of `source`."""
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
