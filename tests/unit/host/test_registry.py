import pytest

from stdworker.errors import PluginError, SettingsError
from stdworker.host.registry import Registry
from stdworker.model.kind import KindVersion


class Quiet:
    def __init__(self, kind, version=1):
        self.kind = KindVersion(kind, version)

    def work(self, request):
        return None

    def on_config(self, config):
        return None

    def ready(self):
        return True


def registry(*names: str) -> Registry:
    return Registry((Quiet(*KindVersion.parse(name)), f"plugin {name}") for name in names)


def test_pairs_come_in_sorted_order():
    assert [str(pair) for pair in registry("vm@2", "disk", "vm@1")] == ["disk@1", "vm@1", "vm@2"]


def test_a_pair_that_is_served_twice_is_refused_naming_both_origins():
    served = registry("disk")
    with pytest.raises(PluginError, match=r"disk@1 is served twice: by plugin disk and by the other one"):
        served.add(Quiet("disk"), "the other one")


@pytest.mark.parametrize(
    ("origins", "choice"),
    [
        (("plugin disk", "plugin block"), "(remove or rename one of the two, or choose with STDWORKER_PLUGINS)"),
        (("plugin stdio, STDIO_KINDS", "plugin stdio, /kinds/disk"), "(remove or rename one of the two)"),
    ],
)
def test_a_choice_between_plugins_is_advised_only_where_it_can_help(origins, choice):
    first, second = origins
    with pytest.raises(PluginError) as refused:
        Registry([(Quiet("disk"), first), (Quiet("disk"), second)])

    assert str(refused.value) == f"disk@1 is served twice: by {first} and by {second} {choice}"


def test_two_versions_of_one_kind_live_side_by_side():
    assert len(registry("disk@1", "disk@2")) == 2


@pytest.mark.parametrize(("kind", "version"), [("disk", 0), ("disk", 32_768), ("Disk", 1), ("", 1)])
def test_a_kind_version_that_no_broker_routes_is_refused(kind, version):
    with pytest.raises(PluginError, match="is no kind version"):
        Registry([(Quiet(kind, version), "here")])


def test_what_lacks_a_method_is_no_provider_and_the_error_names_it():
    class Half:
        kind = KindVersion("half")

        def work(self, request): ...

    with pytest.raises(PluginError, match="has no on_config, ready"):
        Registry([(Half(), "here")])


def test_a_kind_that_is_a_plain_text_is_refused():
    broken = Quiet("disk")
    broken.kind = "disk"
    with pytest.raises(PluginError, match="no KindVersion"):
        Registry([(broken, "here")])


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ((), ["disk@1", "vm@1", "vm@2"]),
        (("vm",), ["vm@1", "vm@2"]),
        (("vm@2", "disk"), ["disk@1", "vm@2"]),
    ],
)
def test_an_allow_list_takes_names_and_versions(names, left):
    assert [str(pair) for pair in registry("disk", "vm@1", "vm@2").only(names)] == left


@pytest.mark.parametrize("names", [("disc",), ("disk", "vm@3")])
def test_a_name_that_nothing_serves_is_an_error_that_says_what_is_served(names):
    with pytest.raises(SettingsError, match=r"WORKER_KINDS .* disk@1, vm@1"):
        registry("disk", "vm").only(names)


def test_a_name_of_a_broken_plugin_is_told_and_tolerated_while_something_is_left(caplog):
    assert list(registry("disk", "vm").only(["disk", "gone"], missing_allowed=True)) == [KindVersion("disk")]
    assert caplog.messages == ["WORKER_KINDS names gone, which nothing serves; a broken plugin may be why"]
    with pytest.raises(SettingsError):
        registry("disk").only(["gone"], missing_allowed=True)


def test_the_origin_is_remembered():
    assert registry("disk").origin(KindVersion("disk")) == "plugin disk"
