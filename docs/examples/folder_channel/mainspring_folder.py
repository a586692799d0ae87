"""Letters as files in a folder: the smallest whole channel. The key is the file's name, so a letter is there once."""

import asyncio
import json
import os
from pathlib import Path

from mainspring.channels import Letter, NotSent


class FolderChannel:
    def __init__(self) -> None:
        self._folder = Path(os.environ.get("LETTERS_DIR", "letters"))

    async def send(self, letter: Letter) -> object:
        if "/" in letter.to:
            raise NotSent(f"{letter.to!r} is no name of a folder", code="bad_address")
        return await asyncio.to_thread(self._write, letter)

    def _write(self, letter: Letter) -> object:
        folder = self._folder / letter.to
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{letter.key}.json"
        file.write_text(json.dumps({"subject": letter.subject, "body": letter.body}))
        return {"file": file.name}
