"""Every picture of the documents, made from the living demo: `make screenshots` (about three minutes).

1. Start `mainspring demo`, and look at its day as it goes on: some thirty frames of one moving picture.
2. Look at each page in light and dark, after the worst of that day.

Chromium makes the pictures small itself, and a moving one is put together here: no other tool is needed.
"""

import base64
import struct
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.site import CHROMIUM, FLAGS, WHY_NOT
from tests.harness.processes import Processes

PICTURES = Path(__file__).parents[2] / "pictures"  # not in docs, which every wheel carries
SIZE = (1280, 800)
MOVING_SIZE = (800, 500)
FRAMES, FRAME_EVERY_S, FRAME_MS = 34, 2.6, 260
SCHEMES = ("light", "dark")
PAGES = {
    "demo": "/demo",  # first, while its day goes on
    "overview": "/",
    "endpoint": "/endpoints/traffic_monitor",
    "simulation": "/simulation",
    "workflow": "/workflows/order-follow-up",
    "execution": "/executions",
}
SHRINK = """async ([png, width, height, quality]) => {
  const bytes = Uint8Array.from(atob(png), (each) => each.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]), {
    resizeWidth: width, resizeHeight: height, resizeQuality: "high",
  });
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d", { alpha: false }).drawImage(image, 0, 0);
  const small = new Uint8Array(await (await canvas.convertToBlob({ type: "image/webp", quality })).arrayBuffer());
  let text = "";
  for (const each of small) text += String.fromCharCode(each);
  return btoa(text);
}"""


def main() -> None:
    if WHY_NOT:
        raise SystemExit(WHY_NOT)
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Processes() as processes, sync_playwright() as playwright:
        demo = processes.start("demo", env={"TMPDIR": folder})
        url = demo.wait_for("Open http").strip().removeprefix("Open ").removesuffix("/demo")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        tool = browser.new_page()
        tool.goto(f"{url}/healthz")
        _write("demo.webp", animated(_frames(browser, tool, url), *MOVING_SIZE, FRAME_MS))
        for name, path in PAGES.items():
            for scheme in SCHEMES:
                _write(f"{name}-{scheme}.webp", _still(browser, tool, url, path, scheme))
        browser.close()
        demo.terminate()
    total = sum(each.stat().st_size for each in PICTURES.iterdir())
    print(f"{total / 1000:.0f} kB in {PICTURES}")


def animated(stills: list[bytes], width: int, height: int, frame_ms: int) -> bytes:
    """Lossy WebP pictures of one size as one that moves, for ever."""
    parts = [_chunk(b"VP8X", struct.pack("<I", 2) + _three(width - 1) + _three(height - 1))]
    parts.append(_chunk(b"ANIM", struct.pack("<IH", 0xFFFFFFFF, 0)))
    for still in stills:
        place = _three(0) * 2 + _three(width - 1) + _three(height - 1) + _three(frame_ms) + b"\2"
        parts.append(_chunk(b"ANMF", place + _chunk(b"VP8 ", _lossy(still))))
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _lossy(still: bytes) -> bytes:
    place = 12
    while place < len(still):
        name, size = still[place : place + 4], int(struct.unpack_from("<I", still, place + 4)[0])
        if name == b"VP8 ":
            return still[place + 8 : place + 8 + size]
        place += 8 + size + size % 2
    raise ValueError("this is no lossy WebP picture")


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _three(number: int) -> bytes:
    return struct.pack("<I", number)[:3]


def _frames(browser: Browser, tool: Page, url: str) -> list[bytes]:
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
    page.goto(f"{url}/demo")
    page.get_by_role("img", name="traffic_monitor:").wait_for()
    frames = []
    for number in range(FRAMES):
        due = time.monotonic() + FRAME_EVERY_S
        frames.append(_small(tool, page.screenshot(), *MOVING_SIZE, 0.5))
        if number + 1 < FRAMES:
            page.wait_for_timeout(max(due - time.monotonic(), 0) * 1000)
    page.close()
    return frames


def _still(browser: Browser, tool: Page, url: str, path: str, scheme: str) -> bytes:
    context = browser.new_context(
        viewport={"width": SIZE[0], "height": SIZE[1]},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(url + path)
    page.get_by_role("heading", level=1).wait_for()
    if path == "/demo":
        page.get_by_label("seen").nth(4).wait_for()  # the whole story of the day
    if path == "/simulation":
        page.get_by_role("button", name="Run").click()
        page.get_by_text("checks hold").wait_for()
    if path == "/executions":
        page.get_by_role("row").filter(has_text="completed").get_by_role("link").first.click()
        page.get_by_text("State at this point").wait_for()
    page.wait_for_timeout(1_500)
    picture = _small(tool, page.screenshot(), *SIZE, 0.72)
    context.close()
    return picture


def _small(tool: Page, png: bytes, width: int, height: int, quality: float) -> bytes:
    return base64.b64decode(tool.evaluate(SHRINK, [base64.b64encode(png).decode(), width, height, quality]))


def _write(name: str, picture: bytes) -> None:
    (PICTURES / name).write_bytes(picture)
    print(f"{name}: {len(picture) / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
