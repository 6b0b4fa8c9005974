"""The explained config is the one that a task would run under, and every mistake in it is told at once."""

import dataclasses

from stdworker.bridge.launch import LaunchConfig, Limits
from stdworker.cli.explain_layers import built_in_defaults, explain_layers
from stdworker.model.json_text import dumps


def explain(base=None, default=None, override=None, *, program="/bin/greeter", is_sealed=False):
    raws = [None if document is None else dumps(document) for document in (base, default, override)]
    return explain_layers(*raws, program=program, is_sealed=is_sealed)


def leaf(explained, path):
    (found,) = [leaf for leaf in explained.leaves if leaf.path == path]
    return found.value.value(), found.layer, [(name, value.value()) for name, value in found.replaced]


def test_each_leaf_has_its_layer_and_what_it_replaced():
    found = explain({"mode": "stream"}, {"settings": {"n": 1}}, {"settings": {"n": 2}})

    assert leaf(found, "/mode") == ("stream", "kind file", [])
    assert leaf(found, "/settings/n") == (2, "override", [("default", 1)])
    assert leaf(found, "/timeout_seconds") == (None, "built-in default", [])
    assert found.config == b'{"n":2}'
    assert found.mistakes == []


def test_every_key_of_a_launch_config_has_its_built_in_default():
    launch = {f"/{field.name}" for field in dataclasses.fields(LaunchConfig)}
    limits = {f"/limits/{field.name}" for field in dataclasses.fields(Limits)}

    assert launch | limits == {*built_in_defaults(), "/command", "/pool_key", "/settings", "/limits"}


def test_null_lets_the_built_in_default_hold_but_in_settings_it_is_a_value():
    found = explain(
        {"mode": "stream", "limits": {"depth": 5}}, {"mode": None, "limits": {"depth": None}, "settings": {"n": None}}
    )

    assert leaf(found, "/mode") == ("oneshot", "built-in default", [("default", None), ("kind file", "stream")])
    assert leaf(found, "/limits/depth") == (100, "built-in default", [("default", None), ("kind file", 5)])
    assert leaf(found, "/settings/n") == (None, "default", [])


def test_secrets_are_not_shown_not_even_in_what_was_replaced_or_is_wrong():
    found = explain(
        None,
        {"settings": {"token": "s3cr3t-1"}, "env": {"API_KEY": "s3cr3t-2"}, "cwd": ["s3cr3t-2"]},
        {"settings": {"token": "s3cr3t-3"}},
    )

    assert found.config == b'{"token":"***"}'
    assert leaf(found, "/settings/token") == ("***", "override", [("default", "***")])
    assert "s3cr3t" not in repr([found.config, found.mistakes])
    assert [mistake.path for mistake in found.mistakes] == ["/cwd"]


def test_all_mistakes_are_told_each_with_its_layer():
    found = explain({"timeout": 5}, {"mode": "socket", "limits": {"dept": 1}}, {"strict": "yes"}, is_sealed=True)

    told = [(mistake.path, mistake.layer) for mistake in found.mistakes]
    assert told == [
        ("/timeout", "kind file"),
        ("/strict", "override"),
        ("/limits/dept", "default"),
        ("", ""),
        ("/strict", "override"),
    ]
    assert found.mistakes[0].hint == "did you mean 'timeout_seconds'?"
    assert "no socket" in found.mistakes[3].message
    assert "seals" in found.mistakes[4].message


def test_what_an_override_may_not_set_is_listed():
    assert "env" in explain(is_sealed=True).sealed
    assert "settings" not in explain(is_sealed=True).sealed
    assert "env" not in explain().sealed
    assert "args" in explain(None, {"sealed": ["args"]}).sealed


def test_a_sealed_list_that_is_none_is_a_mistake():
    found = explain(None, {"sealed": "args"}, {"args": []})

    assert [(mistake.path, mistake.layer) for mistake in found.mistakes] == [("/sealed", "default")]


def test_layers_without_a_program_are_no_mistake_while_nobody_said_a_mode():
    assert explain(None, {"settings": 1}, program=None).mistakes == []


def test_what_is_no_object_is_a_mistake():
    assert explain(None, [1]).mistakes[0].message == "a launch config is an object"


def test_a_config_that_names_another_program_than_that_of_the_kind_is_a_mistake():
    default = {"command": "/bin/other"}

    assert [(m.path, m.layer) for m in explain(None, default, is_sealed=True).mistakes] == [("/command", "default")]
    assert explain(None, {"command": "/bin/greeter"}, is_sealed=True).mistakes == []
    assert explain(None, default).mistakes == []
