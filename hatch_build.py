"""Hatch's hook: the web UI is built before the package is, so that every wheel has it."""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get("SKIP_WEB_BUILD"):
            return
        sys.path.insert(0, str(Path(self.root) / "web"))
        from build import BuildFailed, build

        try:
            build()
        except BuildFailed as fault:
            if version != "editable":  # a wheel without its UI must not exist; a checkout can build it later
                raise
            self.app.display_warning(f"the web UI was not built: {fault}")
