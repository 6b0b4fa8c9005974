"""No part of a secret is shown, wherever a text was cut and whoever wrote it."""

import logging

import pytest

from stdworker.bridge.redact import Redactor
from stdworker.framing.response import SHOWN_BYTES_MAX, excerpt
from stdworker.model.json_text import dumps

pytestmark = pytest.mark.anyio

SECRET = "vault-0123456789-abcdefghij"
TOLD = SECRET[:4]  # so much of it is already too much
ACROSS = f"$(printf 'x%.0s' {{1..{SHOWN_BYTES_MAX - 18}}})$API_TOKEN and more"  # the secret lies across the cut


def bash(text, **config):
    return {"command": "bash", "args": ["-c", text], "env": {"API_TOKEN": SECRET}, **config}


def loop(body, **config):
    return bash(f"while read -r line; do {body}; done", mode="stream", **config)


@pytest.mark.parametrize(
    ("config", "code"),
    [
        pytest.param(bash(f'echo "{ACROSS}"'), "not_a_response", id="no response"),
        pytest.param(bash(f'echo "{{\\"status\\":\\"{ACROSS}"'), "bad_string", id="a broken response"),
        pytest.param(bash(f"echo \"{ACROSS}\"; echo '{{}}'", strict=True), "stray_output", id="stray output"),
        pytest.param(loop(f'echo "{{{ACROSS}"'), "bad_json", id="a broken line"),
        pytest.param(loop(f'echo "{ACROSS}"', strict=True), "stray_output", id="a stray line"),
        pytest.param(
            loop(f'echo "{{\\"status\\":\\"{ACROSS}\\"}}"', limits={"line_bytes": 100}),
            "line_too_long",
            id="a long line",
        ),
    ],
)
async def test_a_secret_across_the_end_of_what_a_message_shows_is_hidden(provide, caplog, config, code):
    caplog.set_level(logging.INFO)
    failure = (await (await provide(**config)).run()).failure

    assert failure.code == code
    assert "x***…" in failure.message
    assert TOLD not in failure.message + str(failure) + caplog.text


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_secret_across_the_end_of_what_the_log_shows_is_hidden(provide, caplog, stream):
    caplog.set_level(logging.INFO)
    text = "printf 'x%.0s' {1..16380}; echo \"${API_TOKEN} and more\""
    text = f"{{ {text}; }} >&2" if stream == "stderr" else text

    await (await provide(**bash(f"{text}; echo '{{\"status\":1}}'"))).run()

    assert "xxx" in caplog.text
    assert TOLD not in caplog.text


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
async def test_a_secret_across_the_beginning_of_the_tail_of_stderr_is_hidden(provide, mode):
    text = f'read -r line; printf "%s%0{100 - 10}d" "$API_TOKEN" 7 >&2; exit 1'

    failure = (await (await provide(**bash(text, mode=mode, limits={"stderr_tail_bytes": 100}))).run()).failure

    assert "0007" in failure.message
    assert SECRET[-4:] not in failure.message


async def test_a_secret_across_the_end_of_what_a_record_keeps_of_a_line_is_hidden(provide, tmp_path):
    program = await provide(
        {"record_file": tmp_path / "r.jsonl"}, **loop(f'echo "{ACROSS}"', limits={"line_bytes": 100})
    )

    await program.run(seconds=0.5)
    await program.provider.close()

    text = (tmp_path / "r.jsonl").read_text()
    assert "x***\\u2026" in text
    assert TOLD not in text


async def test_why_a_program_is_not_ready_tells_no_secret(provide):
    program = await provide(**loop('echo "{\\"ready\\":false,\\"reason\\":\\"no $API_TOKEN\\"}"; echo "{}"'))
    await program.run()

    assert not await program.provider.ready()
    assert program.provider.readiness_reason == "the program says: no ***"


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"DB_PASSWORD": 12345678}, "/env/DB_PASSWORD: expected a text, got a number (put it in quotes)"),
        (["DB_PASSWORD=12345678"], '/env: expected an object as {"NAME": "value"}, got an array'),
        ("DB_PASSWORD=12345678", '/env: expected an object as {"NAME": "value"}, got a text'),
    ],
)
async def test_a_variable_that_is_no_text_is_told_without_its_value(provide, env, told):
    failure = (await (await provide(command="true", env=env)).run()).failure

    assert told in str(failure)
    assert "12345678" not in str(failure)


async def test_a_secret_of_a_misspelt_section_is_hidden_too(provide):
    program = await provide(command="true", setings={"api_token": SECRET}, mode=[SECRET])

    assert SECRET not in str((await program.run()).failure)


async def test_a_mistake_in_a_config_is_told_without_its_secrets(provide):
    program = await provide(command="true", env={"API_TOKEN": [SECRET]})

    failure = (await program.run()).failure
    assert not await program.provider.ready()

    assert "/env/API_TOKEN: expected a text" in failure.message
    assert TOLD not in failure.message + program.provider.readiness_reason


async def test_a_variable_that_can_t_be_given_is_named_not_shown(provide):
    failure = (await (await provide(command="true", env={"API_TOKEN": f"{SECRET}\0"})).run()).failure

    assert (failure.code, TOLD in failure.message) == ("nul_character", False)
    assert "the environment variable 'API_TOKEN'" in failure.message


async def test_what_an_override_replaces_is_as_secret_as_what_it_says(provide):
    program = await provide(**bash('echo "$API_TOKEN" >&2; cat >&2; exit 1'), settings={"password": "of-the-kind"})

    override = {"settings": {"password": "of-the-resource"}, "env": {"API_TOKEN": "another-one"}}
    message = (await program.run(b'"of-the-kind of-the-resource"', override=override)).failure.message

    assert '"spec":"*** ***"' in message
    assert "another-one" not in message


@pytest.mark.parametrize("name", ["token", "db_password", "clientSecret", "private_key", "API_KEY"])
async def test_a_secret_of_six_characters_is_one_and_a_shorter_one_is_not(name):
    redact = Redactor(dumps({"settings": {name: "sesame", "tokens": ["short", 123456]}}))

    assert redact("open sesame, in short: 123456") == "open ***, in short: 123456"


async def test_a_text_that_was_cut_elsewhere_is_shown_as_it_is():
    redact = Redactor(dumps({"settings": {"token": SECRET}}))

    assert redact(f"x{TOLD}… (9 bytes), vault") == "x***… (9 bytes), vault"
    assert redact("a vault… \ufffd…") == "a ***… \ufffd…"
    assert redact("é … 1…") == "é … 1…"


async def test_a_character_that_was_cut_doesn_t_hide_the_beginning_of_a_secret():
    redact = Redactor(dumps({"settings": {"token": "pässwörd"}}))
    text = "x" * (SHOWN_BYTES_MAX - 7) + "pässwörd"

    assert redact(excerpt(text.encode())).endswith("x***… (203 bytes)")
