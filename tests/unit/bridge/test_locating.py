"""Where a program is looked for, and that it is told."""

import logging
from pathlib import Path

import pytest

from stdworker.bridge.launch import check_kind_file
from stdworker.errors import ConfigError
from stdworker.model.kind_file import KindFile

pytestmark = pytest.mark.anyio

MANIFEST = {"kind": "greeter", "kind_version": 1, "reactions": [{"name": "work", "trigger": "specChange", "emits": []}]}


async def test_a_program_is_looked_for_on_the_path_that_it_will_have_itself(provide, script, tmp_path):
    script('#!/bin/sh\necho \'{"status":"mine"}\'\n', name="only-the-child-finds-this")
    program = await provide(command="only-the-child-finds-this")
    before = await program.provider.ready()

    await program.configure(command="only-the-child-finds-this", env={"PATH": str(tmp_path)})

    assert (before, await program.provider.ready()) == (False, True)
    assert await program.status() == b'"mine"'


async def test_where_a_program_was_found_is_told_once_and_again_when_it_is_another(provide, script, caplog):
    caplog.set_level(logging.INFO, "stdworker.bridge")
    first, second = script("#!/bin/sh\n", name="first"), script("#!/bin/sh\n", name="second")
    program = await provide(command=first)
    for _ in range(3):
        await program.provider.ready()
    await program.configure(command=second)
    await program.provider.ready()

    told = [message for message in caplog.messages if "is served by" in message]
    assert told == [f"greeter@1 is served by {path}" for path in (first, second)]


async def test_a_program_that_comes_later_makes_the_kind_ready_at_the_next_look(provide, script, tmp_path):
    program = await provide(command=str(tmp_path / "late"))
    before = await program.provider.ready()

    script("#!/bin/sh\n", name="late")

    assert (before, await program.provider.ready()) == (False, True)
    Path(tmp_path / "late").unlink()
    assert await program.provider.ready() is False


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"timout_seconds": 1}, "greeter.kind.json: /default_config: unknown key 'timout_seconds' (did you mean"),
        (
            {"limits": {"dept": 1}},
            "greeter.kind.json: /default_config/limits: unknown key 'dept' (did you mean 'depth'?)",
        ),
        ({"mode": "daemon"}, "greeter.kind.json: /default_config/mode: expected one of"),
    ],
)
def test_a_mistake_in_a_kind_file_is_told_with_its_place(config, complaint):
    with pytest.raises(ConfigError) as refused:
        check_kind_file(KindFile.of(MANIFEST | {"default_config": config}, where="greeter.kind.json"), "/bin/true")

    assert complaint in str(refused.value)


def test_what_a_kind_file_leaves_to_others_is_no_mistake():
    for config in ({}, {"mode": "socket"}, {"settings": {"any": 1}}):
        check_kind_file(KindFile.of(MANIFEST | {"default_config": config}, where="greeter.kind.json"), "/bin/true")
    check_kind_file(KindFile.of(MANIFEST, where="greeter.kind.json"), "/bin/true")
