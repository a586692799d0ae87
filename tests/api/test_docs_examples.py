"""Every example of docs/api.md, sent by curl to a real server, in the order of the page."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.api.server import Server

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


# The page is tried on every machine; where there is a curl, with it as well.
CURLS = {"ours": f"{sys.executable} -S -m tests.harness.curl"}  # -S: it needs no packages, and starts quicker
if shutil.which("curl") is not None:
    CURLS["curl"] = "command curl -sS --fail-with-body"


@pytest.mark.parametrize("curl", CURLS.values(), ids=CURLS)
def test_every_curl_of_the_page_is_answered_with_success(curl: str) -> None:
    blocks = [block for block in SHELL_BLOCK.findall(PAGE.read_text(encoding="utf-8")) if "curl" in block]
    script = f'set -eo pipefail\ncurl() {{ {curl} "$@"; }}\n' + "\necho\n".join(blocks)
    with TemporaryDirectory() as folder, Server(folder) as server:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=PAGE.parents[1],
            env={"PATH": os.environ["PATH"], "URL": server.url, "KEY": "test"},
            capture_output=True,
            text=True,
            timeout=300,  # some fifty programs are started, one after the other
            check=False,
        )

    assert done.returncode == 0, done.stdout[-1_500:] + done.stderr
