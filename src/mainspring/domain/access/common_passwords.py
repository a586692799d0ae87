"""Detect common passwords: words with digits around them, runs on a keyboard, short patterns. Pure.

Apart from this, only the length of a password is checked. The usual disguises are removed first: capitals, digits for
letters, digits and signs at the ends.
"""

import re
from itertools import pairwise
from typing import Final

# The words that head every list of leaked passwords, and our own name.
WORDS: Final = frozenset(
    """
    password passwort passwd pass motdepasse contrasena senha parola secret admin administrator root user login
    welcome willkommen bienvenue letmein changeme changeit default guest master superuser test testing temp temporary
    qwerty qwertz azerty qwertyuiop asdfgh asdfghjkl zxcvbn zxcvbnm qazwsx wsxedc iloveyou loveyou love monkey dragon
    sunshine princess football baseball basketball soccer superman batman spiderman pokemon starwars shadow michael
    jordan jennifer jessica ashley nicole daniel thomas charlie andrew joshua matthew hunter hunters ranger harley
    freedom whatever trustno trustnoone computer internet server database company office business summer winter spring
    autumn january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday hello helloworld world access private security secure money jesus
    chocolate cookie cheese banana flower butterfly purple orange yellow silver golden diamond mustang ferrari mercedes
    liverpool arsenal chelsea barcelona samsung iphone google facebook microsoft windows linux ubuntu docker github
    mainspring scheduler cron monitoring manager management system operator owner viewer production staging
    """.split()
)
ROWS: Final = (
    "abcdefghijklmnopqrstuvwxyz",
    "0123456789",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "azertyuiop",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
)
PERIOD_MAX: Final = 4
_LEET: Final = str.maketrans("0134578@$!+", "oieastbasit")
_ENDS: Final = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_RUN_MIN: Final = 4


def is_common(password: str) -> bool:
    """Whether a guesser would try this password first."""
    plain = password.casefold()
    return _is_pattern(plain) or _is_run(plain) or any(_is_of_words(each) for each in _undisguised(plain))


def _undisguised(plain: str) -> set[str]:
    bare = _ENDS.sub("", plain)
    return {re.sub(r"[\W_]", "", each) for each in (bare, bare.translate(_LEET), _ENDS.sub("", plain.translate(_LEET)))}


def _is_of_words(text: str) -> bool:
    """One common word, or two of them in a row, digits between them left out."""
    text = re.sub(r"\d", "", text)
    if text in WORDS:
        return True
    return any(text[:cut] in WORDS and text[cut:] in WORDS for cut in range(3, len(text) - 2))


def _is_pattern(plain: str) -> bool:
    """A few characters again and again: `abcabcabcabc`."""
    return any(plain == (plain[:period] * len(plain))[: len(plain)] for period in range(1, PERIOD_MAX + 1))


def _is_run(plain: str) -> bool:
    """Nothing but runs of neighbours on a keyboard or in the alphabet, forwards or backwards: `qwerty123456`."""
    rows = [row + row for row in ROWS] + [(row + row)[::-1] for row in ROWS]
    neighbours = {pair for row in rows for pair in pairwise(row)}
    breaks = sum(pair not in neighbours and pair[0] != pair[1] for pair in pairwise(plain))
    return len(plain) / (breaks + 1) >= _RUN_MIN
