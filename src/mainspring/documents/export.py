"""The database as documents: one for each source, in a stable order, without what is so by default.

Applying an export changes nothing. A secret is not in it: `${stored}` stands in its place, and keeps what is there.
"""

from mainspring.documents.sections import SECTIONS
from mainspring.operations.endpoints import Desk


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
