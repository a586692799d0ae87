"""A mail server on loopback that keeps what it is given, and refuses what it is told to refuse."""

import asyncio
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Self


class PostOffice:
    """Speaks enough SMTP for a client that means well. `answers` replaces the answer to a verb."""

    def __init__(self, *, extensions: tuple[str, ...] = ()) -> None:
        self.letters: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.commands: list[str] = []
        self.answers: dict[str, str] = {}
        self.is_silent = False  # takes a letter and hangs up without a word
        self._extensions = extensions
        self._server: asyncio.Server | None = None
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 post office\r\n")
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            verb = line.partition(" ")[0].upper()
            if verb in self.answers:
                answer = self.answers[verb]
            elif verb == "EHLO":
                answer = "\r\n".join(["250-post office", *(f"250-{name}" for name in self._extensions), "250 HELP"])
            elif verb == "DATA":
                writer.write(b"354 go on\r\n")
                text = await reader.readuntil(b"\r\n.\r\n")
                text = text.removesuffix(b".\r\n").replace(b"\r\n..", b"\r\n.").replace(b"\r\n", b"\n")
                self.letters.append(message_from_bytes(text, policy=policy.default))
                if self.is_silent:
                    break
                answer = "250 taken"
            elif verb == "RCPT":
                self.recipients.append(line.partition("<")[2].partition(">")[0])
                answer = "250 ok"
            else:
                answer = {"QUIT": "221 bye", "AUTH": "235 welcome"}.get(verb, "250 ok")
            writer.write(answer.encode() + b"\r\n")
            if verb == "QUIT":
                break
        writer.close()
