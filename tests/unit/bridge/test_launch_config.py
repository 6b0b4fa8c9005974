"""A launch config is read strictly: every mistake is one clear error that names the key."""

import re
from pathlib import Path

import pytest

from stdworker.bridge import LaunchConfig, Limits, parse_launch
from stdworker.bridge.launch import _KEYS, _LIMITS, NoCommand, check_sealed
from stdworker.errors import ConfigError, ConfigKeyError, Terminal
from stdworker.model.json_text import RawJson


def launch(text: bytes):
    return parse_launch(RawJson(text))


def refusal(text: bytes) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        launch(text)
    return refused.value


def refusal_of(address: str) -> ConfigError:
    return refusal(b'{"mode":"socket","socket":"%s"}' % address.encode())


def test_every_key_has_its_row_on_the_page_and_no_other():
    page = (Path(__file__).parents[3] / "docs" / "programs.md").read_text()
    keys, of_limits = (
        {key: row for row in table.strip().splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])}
        for table in re.findall(r"^\| key.*?\n\n", page, re.DOTALL | re.MULTILINE)
    )

    assert keys.keys() - {"limits"} == _KEYS.keys() - {"limits"}
    assert of_limits.keys() - {"limits"} == _LIMITS.keys()
    for key, row in (keys | of_limits).items():
        default = getattr(LaunchConfig("x"), key, None) if key in keys else getattr(Limits(), key)
        if type(default) is int:
            assert f"| {default} |" in row


def test_a_command_is_enough():
    config = launch(b'{"command":"x"}')

    assert (config.mode, config.processes, config.concurrency, config.grace_seconds) == ("oneshot", 1, 1, 5.0)
    assert (config.timeout_seconds, config.limits) == (None, Limits())


def test_no_command_is_not_a_mistake_but_not_configured():
    assert refusal(b"{}").code == "not_configured"
    assert refusal(b'{"command":null}').code == "not_configured"
    assert parse_launch(None, default_command="x").command == "x"


def test_null_is_the_same_as_absent_for_every_key():
    given = launch(
        b'{"command":"x","args":null,"mode":null,"limits":{"depth":null},"timeout_seconds":null,"user":null}'
    )

    assert (given.args, given.mode, given.limits, given.timeout_seconds) == ((), "oneshot", Limits(), None)


@pytest.mark.parametrize(
    ("text", "near"),
    [(b'{"comand":"x"}', "command"), (b'{"limits":{"line_byte":1}}', "line_bytes"), (b'{"arg":[]}', "args")],
)
def test_an_unknown_key_is_an_error_that_suggests_the_nearest(text, near):
    error = refusal(text)

    assert isinstance(error, ConfigKeyError)
    assert repr(near) in error.hint


@pytest.mark.parametrize(
    ("member", "path"),
    [
        (b'"command":""', "/command"),
        (b'"command":["x"]', "/command"),
        (b'"args":"a b"', "/args"),
        (b'"args":[1]', "/args"),
        (b'"env":{"A":1}', "/env/A"),
        (b'"env":{"A=B":"1"}', "/env"),
        (b'"env":[]', "/env"),
        (b'"mode":"daemon"', "/mode"),
        (b'"processes":0', "/processes"),
        (b'"processes":1.5', "/processes"),
        (b'"processes":true', "/processes"),
        (b'"concurrency":-1', "/concurrency"),
        (b'"timeout_seconds":"5s"', "/timeout_seconds"),
        (b'"timeout_seconds":-1', "/timeout_seconds"),
        (b'"grace_seconds":-0.1', "/grace_seconds"),
        (b'"strict":"yes"', "/strict"),
        (b'"cwd":5', "/cwd"),
        (b'"limits":[]', "/limits"),
        (b'"limits":{"line_bytes":0}', "/limits/line_bytes"),
        (b'"limits":{"depth":101}', "/limits/depth"),
        (b'"sealed":"all"', "/sealed"),
    ],
)
def test_a_value_of_the_wrong_form_is_named_with_its_place(member, path):
    error = refusal(b'{"command":"x",' + member + b"}" if b'"command"' not in member else b"{" + member + b"}")

    assert error.path == path
    assert "expected" in error.message or "can't be the name" in error.message


def test_how_the_system_holds_a_program_can_be_said() -> None:
    launch = parse_launch(
        RawJson(
            b'{"command":"x","mode":"stream","user":"nobody","group":"nogroup","spares":2,"record":true,'
            b'"limits":{"memory_bytes":1,"cpu_seconds":2,"open_files":16}}'
        )
    )

    assert (launch.user, launch.group, launch.spares, launch.record) == ("nobody", "nogroup", 2, True)
    assert (launch.limits.memory_bytes, launch.limits.cpu_seconds, launch.limits.open_files) == (1, 2, 16)


@pytest.mark.parametrize("address", ["unix:/run/x.sock", "tcp:127.0.0.1:9000", "tcp:[::1]:9000", "tcp:sidecar:1"])
def test_a_socket_is_a_path_or_a_host_and_port(address: str) -> None:
    assert parse_launch(RawJson(b'{"mode":"socket","socket":"%s"}' % address.encode())).socket == address


@pytest.mark.parametrize("address", ["", "/run/x", "unix:run", "tcp:host", "tcp::1", "http://x:1", "tcp:[::1:9000"])
def test_another_form_of_socket_is_refused(address: str) -> None:
    assert refusal_of(address).path == "/socket"


@pytest.mark.parametrize("address", ["tcp:x:0", "tcp:x:65536", "unix:/" + "x" * 107])
def test_a_port_and_a_path_have_the_system_s_limits(address: str) -> None:
    assert "at most 107 bytes" in str(error := refusal_of(address)) or "from 1 to 65535" in str(error)


def test_a_socket_needs_no_command_and_its_absence_is_no_mistake():
    assert parse_launch(RawJson(b'{"mode":"socket","socket":"tcp:x:1"}')).command == ""

    with pytest.raises(NoCommand) as caught:
        parse_launch(RawJson(b'{"mode":"socket","command":"x"}'))
    assert "socket" in str(caught.value)


@pytest.mark.parametrize(
    ("config", "needed"),
    [
        (b'{"command":"x","socket":"tcp:x:1"}', "socket needs mode: socket"),
        (b'{"command":"x","mode":"stream","socket":"tcp:x:1"}', "socket needs mode: socket"),
        (b'{"command":"x","spares":1}', "spares needs mode: stream"),
        (b'{"mode":"socket","socket":"tcp:x:1","spares":1}', "spares needs mode: stream"),
    ],
)
def test_a_key_that_its_mode_doesn_t_know_is_refused(config, needed):
    assert needed in str(refusal(config))


def test_a_timeout_of_zero_is_none():
    assert launch(b'{"command":"x","timeout_seconds":0}').timeout_seconds is None
    assert launch(b'{"command":"x","timeout_seconds":0.5}').timeout_seconds == 0.5


def test_settings_stay_verbatim():
    assert (
        launch(b'{"command":"x","settings":{"n":1.0, "m":9007199254740993}}').settings
        == b'{"n":1.0, "m":9007199254740993}'
    )


def test_configs_that_differ_in_settings_and_timeout_share_processes():
    one = launch(b'{"command":"x","args":["a"],"settings":{"a":1},"timeout_seconds":5}')
    other = launch(b'{"args":["a"],"command":"x","settings":{"a":2},"user":null}')

    assert one.pool_key == other.pool_key
    assert one.pool_key != launch(b'{"command":"x","args":["b"]}').pool_key


def sealing(base: bytes, override: bytes, *, by_default: bool = False) -> None:
    check_sealed(RawJson(base), RawJson(override), sealed_by_default=by_default)


def test_an_override_can_t_touch_a_sealed_key_not_even_with_null():
    sealing(b'{"sealed":["command"]}', b'{"args":[]}')
    with pytest.raises(Terminal, match="'command'"):
        sealing(b'{"sealed":["command"]}', b'{"command":null}')


@pytest.mark.parametrize("key", ["sealed", "inherit_env", "env_passthrough", "user", "group"])
def test_some_keys_are_always_sealed(key):
    with pytest.raises(Terminal) as refused:
        sealing(b'{"sealed":[]}', b'{"%s":null}' % key.encode())

    assert refused.value.code == "sealed_key"


def test_a_program_on_the_path_seals_all_but_settings_and_timeout():
    sealing(b"{}", b'{"settings":{"a":1},"timeout_seconds":5}', by_default=True)
    with pytest.raises(Terminal, match="'args'"):
        sealing(b"{}", b'{"args":[]}', by_default=True)


def test_the_default_config_can_say_otherwise():
    sealing(b'{"sealed":["command"]}', b'{"args":[]}', by_default=True)
