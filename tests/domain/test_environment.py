"""Nulls do no harm: the CEL library takes a reference to None away with each one that it passes to Python."""

import subprocess
import sys

import pytest

EVALUATIONS = 40
NULLS = 5_000  # a small process has some 5,000 references to None, a large one 100,000

CODE = {
    "condition": "from mainspring.domain.expressions.condition import evaluate\n"
    "body = b'[' + b','.join([b'null'] * NULLS) + b']'\n"
    "judge = lambda: evaluate('body.all(x, x == null)', 200, (), body, 1)",
    "rule": "from mainspring.domain.rules import rule\n"
    "seen = rule.Seen([None] * NULLS, NULLS, 5 * NULLS)\n"
    "judge = lambda: rule.judge('body.all(x, x == null)', lambda _: seen)",
    "expression of a workflow": "from mainspring.workflow.expression import evaluate\n"
    "values = {'input': {'x': [None] * NULLS}}\n"
    "judge = lambda: evaluate('input.x', values, 5 * NULLS) == values['input']['x']",
}


@pytest.mark.parametrize("which", CODE)
def test_nulls_do_not_abort_the_process(which: str) -> None:
    code = f"NULLS = {NULLS}\n{CODE[which]}\nfor _ in range({EVALUATIONS}):\n    assert judge() is True"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
