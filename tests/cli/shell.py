"""A shell that runs `mainspring ...` in this process, and what it said."""

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from typer import testing
from typer.testing import CliRunner, Result

from mainspring.cli.main import app

# A runner makes all commands anew for each that it runs, which takes ten times as long as to run one.
testing._get_command = cache(testing._get_command)  # type: ignore[attr-defined]  # no seam is offered


class Shell:
    """`shell("endpoint", "list")`; `env` is added to an environment without any MAINSPRING_ setting of yours."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("MAINSPRING_")}
        self.env |= {"COLUMNS": None, "FORCE_COLOR": None, **env}

    def __call__(self, *arguments: str, stdin: str | bytes | None = None, **env: str) -> Result:
        result = CliRunner(env=self.env | env).invoke(app, list(arguments), input=stdin, prog_name="mainspring")
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        return result

    def ok(self, *arguments: str, stdin: str | bytes | None = None, **env: str) -> str:
        """What it printed, given that it worked."""
        result = self(*arguments, stdin=stdin, **env)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: str) -> Any:  # the tests know what they asked for
        """What it answered with `-o json`, given that it worked."""
        return json.loads(self.ok(*arguments, "-o", "json"))

    def refused(self, *arguments: str, code: int = 1) -> str:
        """The message it was refused with, given that it was, with this exit code."""
        result = self(*arguments)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        message = result.stderr.strip()
        assert message.startswith("error: ")
        assert "\n" not in message
        return message.removeprefix("error: ")

    def add(self, name: str = "health", *options: str, url: str = "https://example.com/health") -> Any:
        schedule = [] if {"--every", "--cron"} & set(options) else ["--every", "1m"]
        return self.json("endpoint", "add", name, "--url", url, *schedule, *options)
