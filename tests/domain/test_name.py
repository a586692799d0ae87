import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import NAME_LENGTH_MAX, check_name, shown


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("billing", "billing", id="a-word"),
        pytest.param("Nightly report, 2nd try", "Nightly report, 2nd try", id="spaces-and-signs-inside"),
        pytest.param("  billing\t\n", "billing", id="spaces-at-the-ends-are-removed"),
        pytest.param("x", "x", id="one-character"),
        pytest.param("x" * 100, "x" * 100, id="as-long-as-allowed"),
        pytest.param(" " * 50 + "x" * 100 + " " * 50, "x" * 100, id="spaces-at-the-ends-do-not-count"),
        pytest.param("Größe", "Größe", id="letters-beyond-ascii"),
        pytest.param("قائمة الفواتير", "قائمة الفواتير", id="a-script-written-from-right-to-left"),
        pytest.param("deploy 🚀", "deploy 🚀", id="emoji-of-four-bytes"),
        pytest.param("👩\u200d🚀", "👩\u200d🚀", id="emoji-joined-from-two"),
        pytest.param("cafe\u0301", "caf\u00e9", id="decomposed-letters-are-composed"),
        pytest.param("#1", "#1", id="signs-and-digits-only"),
        pytest.param("job_" + "0" * 31, "job_" + "0" * 31, id="nearly-an-id"),
        pytest.param("ep_" + "0" * 32, "ep_" + "0" * 32, id="an-id-of-another-kind"),
    ],
)
def test_readable_names_are_kept_in_one_form(text: str, kept: str) -> None:
    assert check_name(text, field="name", kind="job") == kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "job_" + "0f" * 16,
            f"job name 'job_{'0f' * 16}' has the form of an id; names must be distinct from ids: choose another",
            id="an-id",
        ),
        pytest.param("", "job name '' is empty; a name has 1 to 100 characters: write one", id="empty"),
        pytest.param(
            " \u3000 ",
            "job name ' \\u3000 ' consists of spaces; a name has 1 to 100 characters: write one",
            id="only-spaces",
        ),
        pytest.param(
            "a\x00b",
            "job name 'a\\x00b' contains a control character (U+0000); a name is one line of visible text: remove it",
            id="nul",
        ),
        pytest.param(
            "a\nb",
            "job name 'a\\nb' contains a control character (U+000A); a name is one line of visible text: remove it",
            id="line-break-inside",
        ),
        pytest.param(
            "a\u2028b",
            "job name 'a\\u2028b' contains a line separator (U+2028); a name is one line of visible text: remove it",
            id="line-separator",
        ),
        pytest.param(
            "a\ud800b",
            "job name 'a\\ud800b' contains a lone surrogate (U+D800); a name is one line of visible text: remove it",
            id="lone-surrogate",
        ),
        pytest.param(
            "a\u202eb",
            "job name 'a\\u202eb' contains a text direction control (U+202E); "
            "a name is one line of visible text: remove it",
            id="right-to-left-override",
        ),
        pytest.param(
            "\u200d\ufe0f",
            "job name '\\u200d️' is invisible; a name must be readable: use a letter or a digit",
            id="nothing-to-see",
        ),
        pytest.param(
            "x" * 101,
            f"job name '{'x' * 80}…' has 101 characters; at most 100 are allowed: shorten it",
            id="one-too-long",
        ),
        pytest.param(
            "x" * 1_000_000,
            f"job name '{'x' * 80}…' has 1000000 characters; at most 100 are allowed: shorten it",
            id="a-megabyte",
        ),
        pytest.param(7, "job name '7' is not text; a name is text: put it in quotes", id="a-number"),
        pytest.param(None, "job name 'None' is not text; a name is text: put it in quotes", id="nothing-at-all"),
    ],
)
def test_names_that_cannot_be_stored_or_read_are_refused_with_the_reason(text: object, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_name(text, field="name", kind="job")

    assert str(refusal.value) == message
    assert refusal.value.field == "name"


def test_both_unicode_spellings_of_a_name_are_the_same_name() -> None:
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"

    assert check_name(composed, field="name", kind="job") == check_name(decomposed, field="name", kind="job")


@given(st.text(max_size=120))
def test_a_kept_name_is_kept_unchanged_and_fits_into_utf8_and_json(text: str) -> None:
    try:
        name = check_name(text, field="name", kind="job")
    except InvalidInput:
        return

    assert check_name(name, field="name", kind="job") == name
    assert 1 <= len(name) <= NAME_LENGTH_MAX
    assert name.encode("utf-8").decode("utf-8") == name
    assert name == name.strip()


@given(st.text(alphabet=st.characters(), max_size=200) | st.binary(max_size=50) | st.floats() | st.none())
def test_any_refused_value_is_shown_printable_and_short(value: object) -> None:
    text = shown(value)

    assert text.isprintable()
    assert len(text) <= 80 * len("\\U0010ffff") + 1
    assert json.loads(json.dumps(text).encode("utf-8")) == text
