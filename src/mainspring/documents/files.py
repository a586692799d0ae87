"""Documents on disk: the files of a path, and their contents."""

import sys
from collections.abc import Sequence
from pathlib import Path

from mainspring.documents.document import STDIN
from mainspring.documents.faults import DocumentFault, InvalidDocument, SourcePlace
from mainspring.documents.yaml_reader import BYTES_MAX

ENDINGS = (".yaml", ".yml")
WAYS = "name a document, a directory of documents, or - for standard input"


def files_in(folder: Path) -> list[Path]:
    """The documents of a directory, by name; hidden files and other extensions are ignored."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in ENDINGS and not path.name.startswith(".") and path.is_file()
    )


def read_files(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    """Names and contents. `-` is standard input, a directory is all of its documents; an unreadable file is an
    error.
    """
    files: list[tuple[str, bytes]] = []
    faults: list[DocumentFault] = []
    for given in paths:
        if given == "-":
            files.append((STDIN, sys.stdin.buffer.read(BYTES_MAX + 1)))
            continue
        try:
            path = Path(given)
            found = files_in(path) if path.is_dir() else [path]
            if not found:
                faults.append(
                    DocumentFault(
                        SourcePlace(given), f"the directory has no documents; they end in {' or '.join(ENDINGS)}"
                    )
                )
            files.extend((str(each), _content(each)) for each in found)
        except OSError as fault:
            faults.append(DocumentFault(SourcePlace(given), f"cannot be read: {fault.strerror or fault}; {WAYS}"))
    if faults:
        raise InvalidDocument(faults)
    return files


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BYTES_MAX + 1)
