"""Create CEL environments, and protect None from the library.

Version 0.1.3 of the library returns null without taking a reference to None, so each null that it passes to Python
takes one reference away. At zero, Python aborts the process: a response or an input with some 10,000 nulls was enough.
Therefore the first environment raises the count beyond reach. From Python 3.12 on, None cannot be deallocated.
"""

import ctypes
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cel_expr_python import cel


def new_environment(
    variables: "Mapping[str, cel.Type]", functions: "Sequence[cel.FunctionDecl]", *, binds: bool = False
) -> "cel.Env":
    """With `binds`, texts may use `cel.bind`, as only `native_calls` does."""
    from cel_expr_python import cel  # takes 40 ms; delayed until the first expression
    from cel_expr_python.ext.ext_bindings import ExtBindings

    _protect_none()
    extensions = [ExtBindings()] if binds else []
    return cel.NewEnv(variables=dict(variables), functions=list(functions), extensions=extensions)


@cache
def _protect_none() -> None:
    if sys.version_info < (3, 12):
        ctypes.c_ssize_t.from_address(id(None)).value += sys.maxsize // 2  # the count is an object's first field
