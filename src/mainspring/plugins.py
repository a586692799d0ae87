"""How other packages bring letters to people: a channel, registered by the entry point group `mainspring.plugins`.

    [project.entry-points."mainspring.plugins"]
    folder = "mainspring_folder:FolderChannel"

An entry point names a class, or a function, that is called without arguments when a process starts and gives a channel.
A workflow step uses it with `email: {channel: folder, ...}`. docs/examples/folder_channel is a whole one.
"""

from dataclasses import dataclass
from typing import Protocol

GROUP = "mainspring.plugins"


@dataclass(frozen=True, slots=True)
class OutgoingEmail:
    """What to bring to whom. `key` is the same however often it is sent: a channel that remembers it sends once."""

    to: str
    subject: str
    body: str
    sender: str
    key: str
    attempt: int


class NotSent(Exception):
    """Raise it where the letter surely did not leave. `code` may stand in a step's `retry.never`."""

    def __init__(self, message: str, code: str = "not_sent") -> None:
        super().__init__(message)
        self.code = code


class Channel(Protocol):
    async def send(self, letter: OutgoingEmail) -> object:
        """Bring it. What is returned, plain JSON, is the step's result.

        NotSent is a failure. Any other exception means that nobody knows: a failure where the step goes out at least
        once, and unknown, for a person, where it goes out at most once.
        """
