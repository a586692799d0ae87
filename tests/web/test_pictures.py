"""The pictures of the documents: all there, all shown, small; and a moving one is put together as WebP wants it."""

import re
import struct
from pathlib import Path

from tests.browser.screenshots import PAGES, PICTURES, SCHEMES, animated

ROOT = Path(__file__).parents[2]
TOTAL_MAX, MOVING_MAX = 1_500_000, 1_000_000


def test_every_picture_is_there_shown_somewhere_and_small() -> None:
    made = {"demo.webp", *(f"{name}-{scheme}.webp" for name in PAGES for scheme in SCHEMES)}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/([\w-]+\.webp)", page.read_text())}
    sizes = {each.name: each.stat().st_size for each in PICTURES.iterdir()}

    assert set(sizes) == made
    assert shown == made
    assert sizes["demo.webp"] <= MOVING_MAX
    assert sum(sizes.values()) <= TOTAL_MAX


def test_moving_picture_holds_its_frames_in_order() -> None:
    def still(content: bytes) -> bytes:
        return b"RIFF\0\0\0\0WEBPVP8 " + struct.pack("<I", len(content)) + content

    moving = animated([still(b"one!"), still(b"three")], 800, 500, 260)

    assert moving[:4] + moving[8:16] == b"RIFFWEBPVP8X"
    assert struct.unpack_from("<I", moving, 4)[0] == len(moving) - 8
    assert moving.count(b"ANMF") == 2
    assert moving.index(b"one!") < moving.index(b"three")
