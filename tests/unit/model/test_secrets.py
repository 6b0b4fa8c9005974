"""What a setting's name says, and what is shown of it."""

import pytest

from stdworker.model.json_text import RawJson
from stdworker.model.secrets import is_masked, is_secret, mask


@pytest.mark.parametrize(
    "name",
    ["password", "db_password", "githubToken", "API_KEY", "AWS_ACCESS_KEY_ID", "private-key", "clientSecret", "APIKey"],
)
def test_a_name_with_a_secret_word_is_secret(name):
    assert is_secret(name)


@pytest.mark.parametrize("name", ["key", "sort_key", "keyboard", "tokenizer", "secretary", "monkey", "primary_key"])
def test_a_name_that_only_contains_the_letters_is_not(name):
    assert not is_secret(name)


def test_a_mask_hides_texts_under_secret_names_and_leaves_every_other_token():
    config = RawJson(
        b'{"command":"x","setings":{"token":"t"},"settings":{"n":1.0,"auth":{"password":"a","tries":3}},'
        b'"env":{"API_KEY":"k","LANG":"C"}}'
    )
    assert mask(config) == (
        b'{"command":"x","setings":{"token":"***"},"settings":{"n":1.0,"auth":{"password":"***","tries":3}},'
        b'"env":{"API_KEY":"***","LANG":"C"}}'
    )


def test_everything_under_a_secret_name_is_hidden():
    assert mask(RawJson(b'{"settings":{"credentials":{"user":"u","all":["a","",1]}}}')) == (
        b'{"settings":{"credentials":{"user":"***","all":["***","",1]}}}'
    )


def test_what_is_not_an_object_is_shown_as_it_is():
    assert mask(RawJson(b"[1]")) == b"[1]"


def test_a_config_that_was_shown_masked_is_recognised():
    assert is_masked(RawJson(b'{"env":{"API_KEY":"***"}}'))
    assert is_masked(RawJson(b'{"settings":{"tokens":["***"]}}'))
    assert not is_masked(RawJson(b'{"env":{"STARS":"***"}}'))
    assert not is_masked(RawJson(b"1"))
