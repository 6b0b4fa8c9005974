import orjson
import pytest
from jsonschema import Draft202012Validator

from stdworker import protocol_files
from stdworker.errors import ManifestError
from stdworker.model.kind import Emit, KindVersion, Trigger
from stdworker.model.manifest import Manifest

WORK = {"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}
COMPOSE = {"name": "compose", "trigger": "specChange", "emits": ["children", "edges", "status"]}
ROLLUP = {"name": "sum", "trigger": "childrenSettled", "emits": ["status", "conditions"]}
DELETE = {"name": "gone", "trigger": "deleteRequested", "emits": ["finalizer"], "finalizer": "x.dev/y"}
OPERATE = {"name": "rotate", "trigger": "operation", "emits": ["operationOutput"], "verb": "rotate"}
REACT = {"name": "post", "trigger": "reactor", "emits": ["sideEffect"]}
RESYNC = {"name": "again", "trigger": "resync", "emits": ["status"]}


def manifest(*reactions, **members):
    return {"kind": "bucket", "kind_version": 1, "reactions": list(reactions)} | members


def violations(document):
    with pytest.raises(ManifestError) as refused:
        Manifest.from_document(document)
    return refused.value.violations


def test_a_manifest_is_read_into_its_fields():
    schema = {"type": "object"}

    found = Manifest.from_document(
        manifest(WORK, DELETE, description="Stores things.", spec_schema=schema, max_inflight=3, retired=True)
    )

    assert found.pair == KindVersion("bucket", 1)
    assert found.description == "Stores things."
    assert found.spec_schema == schema
    assert found.status_schema is None
    assert (found.max_inflight, found.task_deadline_secs, found.retired) == (3, 0, True)
    assert found.reactions[0].emits == {Emit.STATUS, Emit.CONDITIONS}
    assert found.reactions[1].finalizer == "x.dev/y"


def test_the_document_comes_back_as_it_was_written():
    document = manifest(COMPOSE, ROLLUP, finalizer_name="x.dev/y", resync_recomposes=True)
    document["reactions"].append(DELETE)

    assert Manifest.from_document(document).document() == document


def test_each_role_is_found_by_trigger_and_emits_never_by_name():
    found = Manifest.from_document(manifest(WORK, COMPOSE, ROLLUP, DELETE, OPERATE, REACT, RESYNC))

    assert found.worker.name == "work"
    assert found.composer.name == "compose"
    assert found.rollup.name == "sum"
    assert found.deleter.name == "gone"
    assert found.resyncer.name == "again"
    assert found.operation("rotate").name == "rotate"
    assert found.operation("unknown") is None
    assert not found.is_reactor_kind


def test_a_kind_without_a_role_has_none():
    found = Manifest.from_document(manifest(WORK))

    assert (found.composer, found.rollup, found.deleter, found.resyncer) == (None, None, None, None)


def test_a_kind_that_only_reacts_is_a_reactor_kind():
    assert Manifest.from_document(manifest(REACT)).is_reactor_kind
    assert not Manifest.from_document(manifest()).is_reactor_kind


def test_a_recompose_reaction_is_no_rollup():
    recompose = {"name": "again", "trigger": "childrenSettled", "emits": ["children", "status"]}

    found = Manifest.from_document(manifest(COMPOSE, recompose, ROLLUP))

    assert found.rollup.name == "sum"
    assert found.reactions[1].composes


def test_a_whole_number_written_as_a_float_is_an_integer():
    found = Manifest.from_document(manifest(WORK, max_inflight=4.0))

    assert repr(found.max_inflight) == "4"


@pytest.mark.parametrize(
    ("members", "path", "told"),
    [
        ({"kind": "Bucket"}, "/kind", "'Bucket' is not legal; expected the kind's name"),
        ({"max_inflight": 2**31}, "/max_inflight", "2147483648 is greater than the maximum of 2147483647"),
        ({"kind": "bucket\n"}, "/kind", "not legal"),
        ({"kind": 7}, "/kind", "expected string, got 7"),
        ({"kind_version": 0}, "/kind_version", "1 to 32767"),
        ({"kind_version": 32768}, "/kind_version", "1 to 32767"),
        ({"kind_version": 1.0}, "/kind_version", "expected a whole number without a point"),
        ({"kind_version": True}, "/kind_version", "expected integer, got True"),
        ({"kindversion": 1}, "/kindversion", "did you mean 'kind_version'?"),
        ({"zzz": 1}, "/zzz", "the keys are config_schema"),
        ({"spec_schema": []}, "/spec_schema", "expected object, got []"),
        ({"spec_schema": None}, "/spec_schema", "expected object, got None"),
        ({"max_inflight": -1}, "/max_inflight", "-1 is less than the minimum of 0"),
        ({"task_deadline_secs": 1.5}, "/task_deadline_secs", "expected integer, got 1.5"),
        ({"retired": "no"}, "/retired", "expected boolean, got 'no'"),
        ({"finalizer_name": ""}, "/finalizer_name", "'' is not legal"),
        ({"reactions": {}}, "/reactions", "expected array, got {}"),
        ({"reactions": ["work"]}, "/reactions/0", "expected object, got 'work'"),
    ],
)
def test_a_member_of_the_wrong_shape_is_refused_where_it_stands(members, path, told):
    found = dict(violations(manifest(WORK) | members))

    assert told in found[path]


@pytest.mark.parametrize(
    ("members", "path", "told"),
    [
        ({"trigger": "onChange"}, "/trigger", "'onChange' is not known; it is one of specChange"),
        ({"emits": ["statuses"]}, "/emits/0", "'statuses' is not known; it is one of children"),
        ({"emits": ["status", "status"]}, "/emits", "an entry appears twice"),
        ({"name": ""}, "/name", "'' is not legal; expected unique in the manifest"),
        ({"name": "a b"}, "/name", "'a b' is not legal"),
        ({"emit": []}, "/emit", "did you mean 'emits'?"),
    ],
)
def test_a_reaction_of_the_wrong_shape_is_refused_where_it_stands(members, path, told):
    found = dict(violations(manifest(WORK | members)))

    assert told in found[f"/reactions/0{path}"]


def test_all_that_must_be_given_is_named_once():
    assert violations({"kind": "a"}) == [("", "kind_version, reactions must be given")]


def test_a_document_that_is_no_object_is_refused():
    assert violations([]) == [("", "expected object, got []")]


def test_all_violations_are_told_at_once_and_name_the_source():
    with pytest.raises(ManifestError) as refused:
        Manifest.from_document(manifest({"name": "x"}, kind="B", max_inflight=-1), where="b.kind.yaml")

    assert {path for path, _ in refused.value.violations} == {"/kind", "/max_inflight", "/reactions/0"}
    assert str(refused.value).startswith("b.kind.yaml is not legal: ")


def test_a_long_value_is_shown_short():
    [(_, told)] = violations(manifest(WORK) | {"kind": "x" * 500})

    assert len(told) < 250


ILLEGAL = {
    "a composer without status or conditions": (
        [COMPOSE | {"emits": ["children"]}],
        {},
        "/reactions/0/emits",
        "must emit status or conditions",
    ),
    "a composer with a side effect": (
        [COMPOSE | {"emits": ["children", "status", "sideEffect"]}],
        {},
        "/reactions/0/emits",
        "must not emit sideEffect",
    ),
    "two composers": ([COMPOSE, COMPOSE | {"name": "b"}], {}, "/reactions/1", "at most one specChange"),
    "two workers": ([WORK, WORK | {"name": "b"}], {}, "/reactions/1", "at most one specChange"),
    "two rollups": ([COMPOSE, ROLLUP, ROLLUP | {"name": "b"}], {}, "/reactions/2", "at most one childrenSettled"),
    "two reactors": ([REACT, REACT | {"name": "b"}], {}, "/reactions/1", "at most one reactor"),
    "two teardowns": ([DELETE, DELETE | {"name": "b"}], {}, "/reactions/1", "at most one deleteRequested"),
    "a rollup without composer": (
        [WORK, ROLLUP],
        {},
        "/reactions/1",
        "needs a specChange reaction that emits children",
    ),
    "a name twice": ([WORK, OPERATE | {"name": "work"}], {}, "/reactions/1/name", "'work' is already the name"),
    "a verb twice": ([OPERATE, OPERATE | {"name": "b"}], {}, "/reactions/1/verb", "'rotate' is already the verb"),
    "an operation without verb": (
        [{"name": "o", "trigger": "operation", "emits": []}],
        {},
        "/reactions/0",
        "an operation needs a verb",
    ),
    "a verb of something else": ([WORK | {"verb": "go"}], {}, "/reactions/0/verb", "only an operation has one"),
    "an input schema of something else": (
        [WORK | {"input_schema": {"type": "object"}}],
        {},
        "/reactions/0/input_schema",
        "only an operation has one",
    ),
    "a reactor without side effect": ([REACT | {"emits": []}], {}, "/reactions/0/emits", "emits sideEffect"),
    "a reactor with a status": (
        [REACT | {"emits": ["sideEffect", "status"]}],
        {},
        "/reactions/0/emits",
        "and nothing else",
    ),
    "a teardown without finalizer": (
        [{"name": "gone", "trigger": "deleteRequested", "emits": ["finalizer"]}],
        {},
        "/reactions/0",
        "needs a finalizer",
    ),
    "two different finalizers": ([DELETE], {"finalizer_name": "a.dev/b"}, "/reactions/0/finalizer", "is not the"),
    "a finalizer of something else": (
        [WORK | {"finalizer": "a"}],
        {},
        "/reactions/0/finalizer",
        "only a deleteRequested",
    ),
    "a finalizer without teardown": (
        [WORK],
        {"finalizer_name": "a.dev/b"},
        "/finalizer_name",
        "needs a deleteRequested",
    ),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_an_illegal_combination_is_refused_where_it_stands(case):
    reactions, members, path, told = ILLEGAL[case]

    found = violations(manifest(*reactions, **members))

    assert [found_path for found_path, _ in found] == [path]
    assert told in found[0][1]


@pytest.mark.parametrize(
    ("reactions", "members"),
    [
        ([], {}),
        ([WORK, COMPOSE, ROLLUP], {}),
        ([WORK, DELETE], {"finalizer_name": "x.dev/y"}),
        ([{"name": "gone", "trigger": "deleteRequested", "emits": []}], {"finalizer_name": "x.dev/y"}),
        ([OPERATE, OPERATE | {"name": "b", "verb": "b"}], {}),
        ([RESYNC], {"resync_interval_secs": 300}),
    ],
)
def test_a_legal_combination_is_accepted(reactions, members):
    Manifest.from_document(manifest(*reactions, **members))


def test_the_schema_itself_is_a_schema_and_knows_the_same_words():
    schema = orjson.loads(protocol_files.read("kind/v1/manifest.schema.json"))

    Draft202012Validator.check_schema(schema)

    reaction = schema["$defs"]["reaction"]["properties"]
    assert reaction["trigger"]["enum"] == list(Trigger)
    assert reaction["emits"]["items"]["enum"] == list(Emit)
