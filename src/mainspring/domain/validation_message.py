"""Word the validation errors of pydantic as Mainspring does: the rule and, if it helps, the fix. Pure.

Pydantic's messages speak of inputs and strings; users gave a number, a text or one of several words.
"""

from collections.abc import Mapping

from mainspring.domain.errors import did_you_mean

_FIXED = {
    "int_parsing": "is not a whole number; write it in digits",
    "int_type": "is not a whole number; write it in digits",
    "int_from_float": "is not a whole number; remove the decimals",
    "int_parsing_size": "is too large for a number here; give a smaller one",
    "float_parsing": "is not a number; write it like 0.5",
    "float_type": "is not a number; write it like 0.5",
    "finite_number": "is not a finite number; write it like 0.5",
    "bool_parsing": "is neither true nor false; write one of them",
    "bool_type": "is neither true nor false; write one of them",
    "string_type": "is not text; put it into quotes",
    "list_type": "is not a list; write [...]",
}
_LIMITS = {
    "greater_than_equal": ("ge", "is below the minimum; give {} or more"),
    "greater_than": ("gt", "is too small; give more than {}"),
    "less_than_equal": ("le", "is above the maximum; give {} or less"),
    "less_than": ("lt", "is too large; give less than {}"),
    "string_too_short": ("min_length", "is too short; its length must be {} or more"),
    "string_too_long": ("max_length", "is too long; its length must be {} or less"),
    "too_short": ("min_length", "has too few items; give {} or more"),
    "too_long": ("max_length", "has too many items; give at most {}"),
}


def validation_message(kind: str, message: str, context: Mapping[str, object], given: object = None) -> str:
    """Returns the end of a sentence that starts with the name or the value; `kind`, `message` and `context` are
    pydantic's.
    """
    if kind in _FIXED:
        return _FIXED[kind]
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return words.format(context.get(name))
    if kind in ("literal_error", "enum"):
        return one_of(given, tuple(_names(str(context.get("expected", "")))))
    plain = message.removeprefix("Value error, ")
    return plain[:1].lower() + plain[1:]


def one_of(given: object, names: tuple[str, ...]) -> str:
    listed = ", ".join(name for name in names if name)
    return f"is not one of {listed}{did_you_mean(str(given), names) or '; choose one'}"


def _names(expected: str) -> list[str]:
    """Splits `'a', 'b' or 'c'` into its values."""
    return [name.strip(" '") for name in expected.replace("' or '", "', '").split(",")]
