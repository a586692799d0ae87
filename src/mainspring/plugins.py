"""Interface for packages that send email of workflows: a channel, registered in the entry point group
`mainspring.plugins`.

    [project.entry-points."mainspring.plugins"]
    folder = "mainspring_folder:FolderChannel"

An entry point names a class or a function. Mainspring calls it without arguments when a process starts, and it returns
a channel. A workflow step uses the channel with `email: {channel: folder, ...}`. docs/examples/folder_channel is a
complete example.
"""

from dataclasses import dataclass
from typing import Protocol

GROUP = "mainspring.plugins"


@dataclass(frozen=True, slots=True)
class OutgoingEmail:
    """One email to send. `key` is the same for every attempt, so a channel that remembers keys sends only once."""

    to: str
    subject: str
    body: str
    sender: str
    key: str
    attempt: int


class NotSent(Exception):
    """Raise this if the email was certainly not sent. A step can list `code` in `retry.never`."""

    def __init__(self, message: str, code: str = "not_sent") -> None:
        super().__init__(message)
        self.code = code


class Channel(Protocol):
    async def send(self, email: OutgoingEmail) -> object:
        """Sends the email. The return value, plain JSON, becomes the result of the step.

        NotSent is a failure. After any other exception the outcome is unknown: an at-least-once step treats it as a
        failure, an at-most-once step stops as unknown and waits for a person.
        """
