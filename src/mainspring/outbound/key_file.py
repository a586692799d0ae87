"""The file with the secret keys, one per line: the first encrypts, all of them decrypt.

It is created at the first start and only ever replaced as a whole, so a concurrent reader gets the old text or the new
one.
"""

import os
import secrets
import stat
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mainspring.domain.errors import Conflict, Misconfigured
from mainspring.failpoints import failpoint

KEY_BYTES = 32  # AES-256
SETTING = "MAINSPRING_SECRET_KEY_FILE"
FILE_BYTES_MAX = 4_096  # some eighty keys


class KeyFile:
    """A key file as this process last read it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, ...] = ()

    def read(self) -> tuple[bytes, ...]:
        """The keys in the file, which is created on first use with mode 0600. Two processes that start at once get the
        same key.

        1. If the file exists, refuse it if others may read or change it, otherwise read it.
        2. If not, write a new key beside it and link it into place: a link never replaces a file and is never half
           written.
        3. Read what is in place now, ours or the other process's.
        """
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with (
                self._draft([new_key()]) as draft,
                suppress(FileExistsError),
            ):  # another process was first; its key is used
                os.link(draft, self.path)
        return self._read()

    def reread(self) -> tuple[bytes, ...]:
        """The keys if the file changed since it was last read, otherwise none. A check costs microseconds.

        Returns none if the file is unusable: a process with valid keys keeps them, and the next start reports the
        error.
        """
        try:
            return () if self._marks(os.stat(self.path)) == self._seen else self._read()
        except (OSError, Misconfigured):
            return ()

    def write(self, keys: Sequence[bytes]) -> None:
        """Replaces the keys, for the same owner; they are synced to disk on return."""
        target = self.path.resolve()  # a link stays a link
        owned = target.stat()
        with self._draft(keys, like=owned) as draft:
            os.replace(draft, target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
            failpoint("after_key_file")
        finally:
            os.close(folder)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Prevents others from changing the file. Raises Conflict if another process is changing it. Ends with the
        process.
        """
        import fcntl  # not available on every platform, and needed only here

        folder = os.open(self.path.resolve().parent, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict(
                    f"another process is changing the keys in {self.path}; only one may at a time; wait "
                    "until it has ended",
                    kind="key file",
                    name=str(self.path),
                ) from None
            yield
        finally:
            os.close(folder)

    def _read(self) -> tuple[bytes, ...]:
        with self.path.open("rb") as file:
            about = os.fstat(file.fileno())
            text = file.read(FILE_BYTES_MAX).decode("ascii", "replace")
        mode = stat.S_IMODE(about.st_mode)
        if mode & 0o007:
            raise Misconfigured(
                f"key file {str(self.path)!r} has mode {mode:04o}, so other users of this machine may read "
                f"it; only its owner may; run: chmod 600 {self.path}",
                setting=SETTING,
            )
        keys = parse_keys(text)
        if not keys:
            raise Misconfigured(
                f"key file {str(self.path)!r} does not contain a key; it must have the base64 of "
                f"{KEY_BYTES} bytes per line; restore the right file, or move this one away to create a new "
                "key",
                setting=SETTING,
            )
        self._seen = self._marks(about)
        return keys

    @contextmanager
    def _draft(self, keys: Sequence[bytes], like: os.stat_result | None = None) -> Iterator[Path]:
        """A temporary file beside the real one, synced to disk; removed unless it replaced the real one."""
        draft = self.path.resolve().with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if like is not None:
                    # A user who could read the old keys must be able to read the new ones, even if root wrote them.
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
                file.write(b"".join(urlsafe_b64encode(key) + b"\n" for key in keys))
                file.flush()
                os.fsync(descriptor)
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    @staticmethod
    def _marks(about: os.stat_result) -> tuple[int, ...]:
        return about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def parse_keys(text: str) -> tuple[bytes, ...]:
    """The keys in a text, apart by commas or white space, each once; empty if one of them is not a key."""
    keys: dict[bytes, None] = {}
    for word in text.replace(",", " ").split():
        try:
            key = b64decode(word.translate(str.maketrans("-_", "+/")), validate=True)
        except ValueError:  # no base64, or no ASCII
            return ()
        if len(key) != KEY_BYTES:
            return ()
        keys[key] = None
    return tuple(keys)
