"""The documentation as resources: `mainspring://docs/quickstart`, read from the installed package or from the tree.

Only existing pages can be requested: a name that is not in the list is not looked up in any directory.
"""

from functools import cache
from pathlib import Path

from msgspec import Struct

import mainspring
from mainspring.domain.errors import NotFound
from mainspring.domain.name import shown

SCHEME = "mainspring://docs/"
NOT_FOR_USERS = ("decisions",)


class DocsPage(Struct, frozen=True):
    uri: str
    title: str
    file: Path

    def read(self) -> str:
        return self.file.read_text(encoding="utf-8")


@cache
def documents() -> dict[str, DocsPage]:
    """Every page by its URI, in order."""
    folder = _folder()
    pages: dict[str, DocsPage] = {}
    for file in sorted(folder.rglob("*.md")):
        name = file.relative_to(folder).with_suffix("").as_posix().removesuffix("/README")
        if not name.startswith(NOT_FOR_USERS):
            pages[SCHEME + name] = DocsPage(SCHEME + name, _title(file), file)
    return pages


def find_document(uri: str) -> DocsPage:
    pages = documents()
    if uri not in pages:
        raise NotFound("page", shown(uri), tuple(pages))
    return pages[uri]


def _folder() -> Path:
    """In a wheel the pages are in the package; in a checkout, beside its source."""
    package = Path(mainspring.__file__).parent
    packed = package / "docs"
    return packed if packed.is_dir() else package.parents[1] / "docs"


def _title(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), file.stem)
