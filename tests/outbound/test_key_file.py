"""The key file: made once, for its owner only, replaced whole, and changed by one process at a time."""

import os
import stat
import threading
from pathlib import Path

import pytest

from mainspring.domain.errors import Conflict, Misconfigured
from mainspring.outbound.key_file import KeyFile, new_key, parse_keys


def test_a_key_file_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"

    first = KeyFile(path).read()

    assert [len(key) for key in first] == [32]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KeyFile(path).read() == first
    assert os.listdir(path.parent) == ["key"]


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o666])
def test_a_key_file_open_to_everyone_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "key"
    KeyFile(path).read()
    path.chmod(mode)

    with pytest.raises(Misconfigured, match=f"mode {mode:04o}.*chmod 600"):
        KeyFile(path).read()


@pytest.mark.parametrize("content", [b"", b"short", b"A" * 100, b"\xff" * 44])
def test_a_key_file_without_a_key_is_refused_and_not_overwritten(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(Misconfigured, match="does not contain a key"):
        KeyFile(path).read()
    assert path.read_bytes() == content


def test_processes_that_start_at_once_agree_on_the_key(tmp_path: Path) -> None:
    path, keys = tmp_path / "key", set()
    threads = [threading.Thread(target=lambda: keys.add(KeyFile(path).read())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(keys) == 1


def test_keys_are_read_in_their_order_each_once(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "key")
    (old,) = file.read()
    new = new_key()

    file.write((new, old, new))

    assert file.read() == (new, old)


def test_file_is_written_whole_for_whom_it_was(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "key")
    file.read()
    file.path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(file.path)

    KeyFile(link).write((new_key(), new_key()))

    assert link.is_symlink()
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o640
    assert len(file.read()) == 2
    assert sorted(os.listdir(tmp_path)) == ["key", "link"]


def test_file_is_read_again_only_where_it_changed(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "key")
    (old,) = file.read()
    new = new_key()

    assert file.reread() == ()
    KeyFile(file.path).write((new, old))
    assert (file.reread(), file.reread()) == ((new, old), ())


def test_only_one_process_at_a_time_changes_the_keys(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "key")
    file.read()

    with file.alone(), pytest.raises(Conflict, match="wait until it has ended"), KeyFile(file.path).alone():
        pass
    with KeyFile(file.path).alone():
        pass


@pytest.mark.parametrize("between", [",", " ", ", ", "\n"])
def test_keys_in_a_text_are_apart_by_commas_or_spaces(between: str) -> None:
    first, second = "A" * 43 + "=", "_-" * 21 + "8="

    assert [key[:2] for key in parse_keys(between.join((first, second)))] == [b"\0\0", b"\xff\xef"]


@pytest.mark.parametrize("text", ["", "x", "A" * 43, "A" * 44 + "AAAA", "A" * 43 + "=,short"])
def test_text_with_anything_but_keys_has_none(text: str) -> None:
    assert parse_keys(text) == ()
