import logging
import signal
import subprocess
import sys
from itertools import count
from textwrap import dedent

import pytest

from stdworker.errors import PluginError, SettingsError
from stdworker.host import containment, loader
from stdworker.host.loader import Plugins, Served
from stdworker.model.kind import KindVersion
from stdworker.model.settings import WorkerSettings

NUMBERS = count()
SETTINGS = WorkerSettings()
PROVIDER = """
from stdworker import KindVersion, Outcome, hookimpl

class Greeter:
    def __init__(self, kind):
        self.kind = KindVersion(kind)
    def work(self, request):
        return Outcome(status={"hello": 1})
    def on_config(self, config):
        pass
    def ready(self):
        return True
"""
SERVES = """
@hookimpl
def stdworker_providers(settings):
    return [Greeter("greeter")]
"""


class Site:
    """A folder on sys.path into which real distributions are installed."""

    def __init__(self, path):
        self.path = path
        self.names = []

    def install(self, name, source, *, distribution=None, version="1.2"):
        module = f"throwaway_{next(NUMBERS)}"
        distribution = distribution or f"stdworker-plugin-{name}"
        (self.path / f"{module}.py").write_text(dedent(source))
        metadata = self.path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (metadata / "entry_points.txt").write_text(f"[stdworker]\n{name} = {module}\n")
        self.names.append(name)
        return module

    def load(self):
        return Plugins.load(allowed=self.names)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return Site(tmp_path)


def test_a_plugin_serves_its_kinds_and_says_where_they_come_from(site):
    module = site.install("greet", PROVIDER + SERVES)

    plugins = site.load()
    registry = plugins.registry(SETTINGS)

    [plugin] = plugins
    assert list(registry) == [KindVersion("greeter")]
    assert registry.origin(KindVersion("greeter")) == "plugin greet (stdworker-plugin-greet 1.2)"
    assert (plugin.name, plugin.distribution, plugin.version) == ("greet", "stdworker-plugin-greet", "1.2")
    assert plugin.module == module
    assert plugin.kinds == {KindVersion("greeter"): Served()}
    assert not plugins.broken


@pytest.mark.parametrize("view", ["1 / 0", "{'size': 3}", "None"])
def test_a_provider_may_show_anything_and_is_served(site, view):
    site.install("odd", f"{PROVIDER}    def view(self):\n        return {view}\n{SERVES}")

    plugins = site.load()
    plugins.registry(SETTINGS)

    assert [plugin.kinds for plugin in plugins] == [{KindVersion("greeter"): Served()}]
    assert not plugins.broken


BROKEN = {
    "import nothing_of_this_name": "ModuleNotFoundError",
    "def broken(:": "SyntaxError",
    "raise RuntimeError('no licence')": "RuntimeError: no licence",
    "raise SystemExit(3)": "SystemExit: 3",
    "class Own(BaseException): pass\nraise Own('odd')": "Own: odd",
    "from stdworker import hookimpl\n@hookimpl\ndef stdworker_providers(setings): return []": "setings",
    "from stdworker import hookimpl\n@hookimpl\ndef stdworker_provider(settings): return []": "stdworker_provider",
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_plugin_that_cannot_be_loaded_is_recorded_and_the_others_are_served(site, source):
    site.install("broken", source)
    site.install("greet", PROVIDER + SERVES)

    plugins = site.load()

    assert list(plugins.registry(SETTINGS)) == [KindVersion("greeter")]
    [broken] = plugins.broken
    assert broken.name == "broken"
    assert BROKEN[source] in broken.errors[0]
    assert "Traceback" in broken.tracebacks[0]


def test_a_plugin_that_takes_too_long_to_load_is_recorded(site, monkeypatch):
    monkeypatch.setattr(loader, "LOAD_SECONDS_MAX", 0.05)
    site.install("slow", "import time\ntime.sleep(60)")

    [slow] = site.load().broken

    assert slow.errors == ["plugin slow took longer than 0.05 s"]


def test_a_plugin_that_swallows_the_first_interrupt_gets_another(site, monkeypatch):
    monkeypatch.setattr(loader, "LOAD_SECONDS_MAX", 0.05)
    monkeypatch.setattr(containment, "INSIST_SECONDS", 0.05)
    site.install("stubborn", "import time\ntry:\n    time.sleep(60)\nexcept Exception:\n    time.sleep(60)")

    [stubborn] = site.load().broken

    assert "took longer" in stubborn.errors[0]


def test_a_hook_that_fails_is_recorded_and_the_others_are_served(site):
    site.install(
        "exits", "from stdworker import hookimpl\n@hookimpl\ndef stdworker_providers(settings): raise SystemExit"
    )
    site.install(
        "late", PROVIDER + "\n@hookimpl\ndef stdworker_providers(settings):\n    yield Greeter('a')\n    1 / 0"
    )
    site.install("greet", PROVIDER + SERVES)

    plugins = site.load()

    assert list(plugins.registry(SETTINGS)) == [KindVersion("greeter")]
    assert [plugin.errors for plugin in plugins.broken] == [
        ["stdworker_providers failed: SystemExit"],
        ["stdworker_providers failed: ZeroDivisionError: division by zero"],
    ]


def test_an_error_in_place_of_a_provider_is_recorded_and_the_rest_of_the_plugin_is_served(site):
    site.install(
        "partly",
        PROVIDER
        + """
from stdworker import StdworkerError
@hookimpl
def stdworker_providers(settings):
    return [StdworkerError("no token for x"), Greeter("a")]
""",
    )

    plugins = site.load()

    assert list(plugins.registry(SETTINGS)) == [KindVersion("a")]
    assert plugins.broken[0].errors == ["no token for x"]


def test_what_is_no_provider_is_recorded(site):
    site.install(
        "odd", "from stdworker import hookimpl\n@hookimpl\ndef stdworker_providers(settings): return ['greeter']"
    )

    plugins = site.load()

    assert not plugins.registry(SETTINGS)
    assert "'greeter' is no provider: it has no kind" in plugins.broken[0].errors[0]


def test_two_plugins_that_serve_one_kind_are_refused_naming_both(site):
    site.install("a", PROVIDER + SERVES)
    site.install("b", PROVIDER + SERVES)

    with pytest.raises(PluginError) as refused:
        site.load().registry(SETTINGS)

    assert "plugin a (stdworker-plugin-a 1.2)" in str(refused.value)
    assert "plugin b (stdworker-plugin-b 1.2)" in str(refused.value)


def test_a_provider_may_name_the_file_of_its_kind(site):
    site.install("greet", PROVIDER + "    path = '/opt/greeter'\n" + SERVES)

    registry = site.load().registry(SETTINGS)

    assert registry.origin(KindVersion("greeter")) == "plugin greet (stdworker-plugin-greet 1.2), /opt/greeter"


def test_a_second_plugin_of_the_same_name_is_recorded_naming_the_first(site):
    site.install("greet", PROVIDER + SERVES)
    site.install("greet", PROVIDER + SERVES, distribution="other-greet")

    plugins = site.load()

    assert len(plugins.registry(SETTINGS)) == 1
    [second] = plugins.broken
    assert "its name is taken by plugin greet (" in second.errors[0]


def test_only_allowed_plugins_are_loaded(site):
    site.install("a", "raise AssertionError('must not be imported')")
    site.install("b", PROVIDER + SERVES)

    assert [plugin.name for plugin in Plugins.load(allowed=["b"])] == ["b"]


def test_an_allowed_plugin_that_is_not_installed_is_refused(site):
    site.install("greet", PROVIDER + SERVES)

    with pytest.raises(
        SettingsError, match=r"STDWORKER_PLUGINS is 'gret'; expected plugins that are installed: .*greet"
    ):
        Plugins.load(allowed=["gret"])


def test_a_broken_plugin_is_refused_when_plugins_are_strict(site):
    site.install("broken", "1 / 0")
    plugins = site.load()

    with pytest.raises(PluginError, match=r"plugin broken .*ZeroDivisionError.*STDWORKER_PLUGINS_STRICT"):
        plugins.refuse_broken()


def test_signal_handlers_and_root_logging_are_put_back(site):
    site.install(
        "rude",
        """
        import logging, signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        logging.basicConfig(level=logging.DEBUG, force=True)
        logging.getLogger().addHandler(logging.NullHandler())
        logging.disable(logging.CRITICAL)
        """,
    )
    root = logging.getLogger()
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGALRM), list(root.handlers), root.level

    assert not site.load().broken

    after = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGALRM), list(root.handlers), root.level
    assert after == before
    assert root.manager.disable == logging.NOTSET


def test_what_a_plugin_prints_goes_to_the_log_and_stdout_stays_clean(site):
    site.install(
        "chatty",
        """
        import os, subprocess, sys
        print("from python")
        os.write(1, b"from a descriptor\\n")
        subprocess.run(["echo", "from a child"], check=True)
        sys.stdout.write("without a line end")
        """,
    )
    program = """
import logging, sys
logging.basicConfig(level="INFO", stream=sys.stderr, format="%(message)s")
from stdworker.host.loader import Plugins, Served
print("before")
assert not Plugins.load(allowed=["chatty"]).broken
print("after")
"""

    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(site.path)}, capture_output=True, text=True, check=True
    )

    assert ran.stdout == "before\nafter\n"
    told = sorted(line.removeprefix("plugin chatty printed: ") for line in ran.stderr.splitlines())
    assert told == ["from a child", "from a descriptor", "from python", "without a line end"]


def test_a_flood_on_stdout_is_counted(site, caplog):
    caplog.set_level(logging.INFO, "stdworker.plugins")
    site.install("flood", "import os\nfor _ in range(150): os.write(1, b'x\\n')")

    assert not site.load().broken

    assert caplog.messages[-1] == "plugin flood printed 50 lines more"
    assert len(caplog.messages) == 101


def test_kind_files_of_plugins_are_read_and_illegal_ones_recorded(site):
    site.install(
        "kinds",
        """
        from stdworker import hookimpl
        @hookimpl
        def stdworker_kinds():
            reactions = [{"name": "work", "trigger": "specChange", "emits": ["status"]}]
            yield {"kind": "a", "kind_version": 1, "reactions": reactions, "default_config": {"settings": 1}}
            yield {"kind": "b", "reactions": reactions}
        """,
    )
    plugins = site.load()

    [found] = plugins.kind_files(SETTINGS)

    assert found.pair == KindVersion("a")
    assert found.default_config == b'{"settings":1}'
    assert "/: kind_version must be given" in plugins.broken[0].errors[0]


def test_plugins_are_told_of_tasks_and_a_failing_one_harms_nobody(site, caplog):
    module = site.install(
        "watch",
        """
        from stdworker import hookimpl
        seen = []
        @hookimpl
        def stdworker_task_started(task):
            seen.append(("started", task))
        @hookimpl
        def stdworker_task_finished(task, result):
            seen.append(("finished", task, result))
        """,
    )
    site.install(
        "fails", "from stdworker import hookimpl\n@hookimpl\ndef stdworker_task_started(task): raise SystemExit(1)"
    )
    observer = site.load().observer()

    for number in range(5):
        observer.task_started(number)
    observer.task_finished(4, "done")

    assert sys.modules[module].seen == [*(("started", number) for number in range(5)), ("finished", 4, "done")]
    failures = [message for message in caplog.messages if "stdworker_task_started failed" in message]
    assert len(failures) == 3
    assert failures[-1].endswith("for the last time")


def test_without_a_plugin_that_watches_there_is_no_observer(site):
    site.install("greet", PROVIDER + SERVES)

    assert site.load().observer() is None
