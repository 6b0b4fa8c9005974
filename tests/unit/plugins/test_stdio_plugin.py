import asyncio
import base64
import json
import os
from pathlib import Path

import pytest

from stdworker.errors import ConfigError, Terminal
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KindFile
from stdworker.model.settings import WorkerSettings
from stdworker.plugins import stdio
from stdworker.testing import make_request, run_provider_async

PROGRAM = """#!/bin/sh
read -r request
echo "{\\"status\\": $request}"
"""
MANIFEST = {
    "kind": "greeter",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
    "default_config": {"settings": {"word": "hi"}},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of kinds, and no other on the path of kinds."""
    monkeypatch.setenv("PATH", os.defpath)
    path = tmp_path / "greeter"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    (tmp_path / "greeter.kind.json").write_text(json.dumps(MANIFEST))
    return tmp_path


def run(settings, pair, **parts):
    """Run one task of the kind as a worker would; its status, decoded."""

    async def serve():
        providers = list(stdio.stdworker_providers(settings))
        provider = next(provider for provider in providers if provider.kind == pair)
        try:
            return await run_provider_async(provider, make_request(pair, **parts), timeout=30)
        finally:
            for other in providers:
                await other.close()

    return asyncio.run(serve()).status.value()


def kinds_of(settings):
    found = list(stdio.stdworker_providers(settings))
    return [provider.kind for provider in found if not isinstance(provider, ConfigError)]


def test_the_kinds_of_the_settings_are_served():
    settings = WorkerSettings(
        stdio_kinds=(KindVersion("a"), KindVersion("a", 2)), stdio_composer_kinds=(KindVersion("b"),)
    )

    assert kinds_of(settings) == [KindVersion("a"), KindVersion("a", 2), KindVersion("b")]


def test_a_stdio_kind_runs_the_program_that_its_config_names(folder):
    found = run(WorkerSettings(), KindVersion("stdio"), config={"command": str(folder / "greeter")})

    assert found["kind"] == "stdio"


def test_without_one_it_runs_the_program_of_the_settings(folder):
    settings = WorkerSettings(stdio_command=str(folder / "greeter"))

    assert run(settings, KindVersion("stdio"))["kind"] == "stdio"


def test_a_program_kind_is_served_with_the_config_of_its_kind_file(folder):
    settings = WorkerSettings(kinds_path=(folder,))

    assert run(settings, KindVersion("greeter"))["config"] == {"word": "hi"}
    assert run(settings, KindVersion("greeter"), config={"settings": {"word": "hey"}})["config"] == {"word": "hey"}
    assert run(settings, KindVersion("greeter"), override={"settings": {"word": "yo"}})["config"] == {"word": "yo"}


@pytest.mark.parametrize("override", [{"env": {"A": "1"}}, {"args": ["x"]}, {"mode": "stream"}])
def test_a_resource_may_change_settings_and_timeout_of_a_program_kind_only(folder, override):
    with pytest.raises(Terminal, match="seals"):
        run(WorkerSettings(kinds_path=(folder,)), KindVersion("greeter"), override=override)


def test_no_config_can_name_another_program_for_a_program_kind(folder):
    with pytest.raises(Terminal, match="a config can't name another"):
        run(WorkerSettings(kinds_path=(folder,)), KindVersion("greeter"), config={"command": "/bin/sh"})


def test_a_config_may_name_the_program_that_the_kind_has_anyway(folder):
    """So `conctl apply --program` can declare for an engine what a worker finds on its path."""
    config = {"command": str(folder / "greeter"), "settings": {"word": "hey"}}

    found = run(WorkerSettings(kinds_path=(folder,)), KindVersion("greeter"), config=config)

    assert found["config"] == {"word": "hey"}


def test_any_path_to_the_program_of_the_kind_names_it_and_the_kind_s_own_is_run(folder, tmp_path_factory):
    link = tmp_path_factory.mktemp("link") / "elsewhere"
    link.symlink_to(folder)
    settings, pair = WorkerSettings(kinds_path=(folder,)), KindVersion("greeter")

    for path in (f"{folder}/../{folder.name}/greeter", f"{link}/greeter"):
        assert run(settings, pair, config={"command": path})["kind"] == "greeter"

    provider = next(p for p in stdio.stdworker_providers(settings) if p.kind == pair)
    assert provider._launch(dumps({"command": f"{link}/greeter"})).command == str(folder / "greeter")


@pytest.mark.parametrize("command", ["greeter", "./greeter", "/nowhere/greeter", "a\0b", 7])
def test_what_is_no_path_to_the_program_of_the_kind_is_refused(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    with pytest.raises(Terminal, match="a config can't name another"):
        run(WorkerSettings(kinds_path=(folder,)), KindVersion("greeter"), config={"command": command})


def test_the_bundle_of_a_kind_file_counts_until_a_config_brings_another(folder):
    (folder / "greeter.kind.json").write_text(json.dumps(MANIFEST | {"default_bundle": "bG93"}))
    settings, pair = WorkerSettings(kinds_path=(folder,)), KindVersion("greeter")

    assert run(settings, pair)["bundle"] == "bG93"
    assert run(settings, pair, bundle=b"broker")["bundle"] == base64.b64encode(b"broker").decode()


def test_a_program_that_describes_itself_is_served_with_the_config_that_it_describes(folder):
    described = MANIFEST | {"kind": "self"}
    (folder / "stdworker-kind-self").write_text(
        "#!/bin/sh\nread -r request\ncase $request in\n"
        f"*'\"reaction\":\"describe\"'*) echo '{json.dumps({'describe': described})}' ;;\n"
        '*) echo "{\\"status\\": $request}" ;;\nesac\n'
    )
    (folder / "stdworker-kind-self").chmod(0o755)
    settings = WorkerSettings(kinds_path=(folder,))

    assert run(settings, KindVersion("self"))["config"] == {"word": "hi"}
    [provider] = [p for p in stdio.stdworker_providers(settings) if p.kind.kind == "self"]
    assert (provider.declared_by, provider.path) == ("describe", str(folder / "stdworker-kind-self"))
    assert KindVersion("self") in [getattr(found, "pair", None) for found in stdio.stdworker_kinds(settings)]


def test_a_folder_that_is_not_there_is_told_and_the_kinds_are_served(folder):
    settings = WorkerSettings(kinds_path=(folder / "nowhere", folder))

    assert KindVersion("greeter") in kinds_of(settings)
    assert [str(found) for found in stdio.stdworker_providers(settings) if isinstance(found, ConfigError)] == [
        f"STDWORKER_KINDS_PATH names {folder}/nowhere, which is not a folder (create it, or take it out)"
    ]


def test_a_relative_folder_is_one_of_the_workers_own(folder, monkeypatch):
    monkeypatch.chdir(folder)

    assert run(WorkerSettings(kinds_path=(Path(),)), KindVersion("greeter"))["kind"] == "greeter"


def test_a_program_kind_that_is_malformed_is_told_and_the_others_are_served(folder):
    (folder / "bad.kind.json").write_text("{}")
    settings = WorkerSettings(kinds_path=(folder,), stdio_composer_kinds=())

    assert kinds_of(settings) == [KindVersion("stdio"), KindVersion("greeter")]
    [error] = [found for found in stdio.stdworker_providers(settings) if isinstance(found, ConfigError)]
    assert "bad.kind.json" in str(error)


def test_a_mistake_in_the_config_of_a_kind_file_is_told_with_its_place_and_the_kind_waits_for_a_config(folder):
    (folder / "greeter.kind.json").write_text(json.dumps(MANIFEST | {"default_config": {"timeout_seconds": "5s"}}))

    async def readiness():
        found = list(stdio.stdworker_providers(WorkerSettings(kinds_path=(folder,))))
        [error] = [item for item in found if isinstance(item, ConfigError)]
        providers = [item for item in found if not isinstance(item, ConfigError)]
        [greeter] = [provider for provider in providers if provider.kind == KindVersion("greeter")]
        before = await greeter.ready()
        await greeter.on_config(ProviderConfig(dumps({"timeout_seconds": 5})))
        after = await greeter.ready()
        for provider in providers:
            await provider.close()
        return str(error), before, after

    error, before, after = asyncio.run(readiness())

    assert error.startswith(f"{folder}/greeter.kind.json:1: /default_config/timeout_seconds: expected seconds")
    assert (before, after) == (False, True)


def test_it_ships_a_kind_file_for_each_kind_that_has_one(folder):
    plain = folder / "stdworker-kind-plain"
    plain.write_text(PROGRAM)
    plain.chmod(0o755)
    settings = WorkerSettings(
        kinds_path=(folder,), stdio_kinds=(KindVersion("leaf", 2),), stdio_composer_kinds=(KindVersion("tree"),)
    )

    shipped = list(stdio.stdworker_kinds(settings))

    leaf, tree = (KindFile.of(document, where="test").manifest for document in shipped[:2])
    assert (leaf.pair, leaf.worker.name, leaf.composer) == (KindVersion("leaf", 2), "work", None)
    assert (tree.pair, tree.composer.name, tree.worker) == (KindVersion("tree"), "compose", None)
    assert (tree.resync_interval_secs, tree.resync_recomposes, leaf.max_transient_attempts) == (300, True, 20)
    assert [kind_file.pair for kind_file in shipped[2:]] == [KindVersion("greeter")]
