"""An email channel that writes files to a folder. The file name is the key, so each email is stored once."""

import asyncio
import json
import os
from pathlib import Path

from mainspring.plugins import NotSent, OutgoingEmail


class FolderChannel:
    def __init__(self) -> None:
        self._folder = Path(os.environ.get("LETTERS_DIR", "letters"))

    async def send(self, email: OutgoingEmail) -> object:
        if "/" in email.to:
            raise NotSent(f"{email.to!r} is no name of a folder", code="bad_address")
        return await asyncio.to_thread(self._write, email)

    def _write(self, email: OutgoingEmail) -> object:
        folder = self._folder / email.to
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{email.key}.json"
        file.write_text(json.dumps({"subject": email.subject, "body": email.body}))
        return {"file": file.name}
