"""Each case has a program that is wrong in exactly one way: that case tells it, and every other stays green."""

import pytest

from stdworker.testing import conformance

pytestmark = pytest.mark.slow

FLAG = {"spec_schema": {"type": "object", "properties": {"flag": {"type": "boolean"}}}}
ONESHOT = {
    "start": [("fail", {"shell": "#!/nowhere/sh"})],
    "answer": [
        ("fail", {"before": "echo hello; exit 0"}),
        ("fail", {"before": "no-such-command; exit $?"}),
        ("fail", {"before": "kill -SEGV $$"}),
        ("fail", {"before": """echo '{"status":1}{"status":2}'; exit 0"""}),
        ("fail", {"before": """echo '{"children":[{"kind":"leaf","name":"a"}]}'; exit 0"""}),
        ("fail", {"before": "echo 'no quota' >&2; exit 2"}),
        ("fail", {"before": "echo 'no network' >&2; exit 1"}),
        ("fail", {"before": """echo '{"status":NaN}'; exit 0"""}),
        ("fail", {"before": """echo '{"status":1,"status":2}'; exit 0"""}),
        ("fail", {"before": r"""printf '{"status":"\377"}'; exit 0"""}),
        ("fail", {"before": """echo '{"status":{'; exit 0"""}),
    ],
    "start-time": [("warn", {"before": "case $request in *check-start-time*) sleep 1.1 ;; esac"})],
    "stray-output": [("warn", {"before": "echo working"})],
    "answer-fields": [("warn", {"answer": """printf '{"status":{"spec":%s},"statuss":1}' "$spec" """})],
    "secrets": [("warn", {"before": """printf '%s' "$request" >&2"""})],
    "reactions": [
        ("warn", {"before": """case $request in *'"reaction":"restart"'*) exit 2 ;; esac"""}),
        ("fail", {"before": """case $request in *'"reaction":"restart"'*) echo working; exit 0 ;; esac"""}),
    ],
    "emits": [
        ("fail", {"answer": """printf '{"status":{"spec":%s},"output":1}' "$spec" """}),
        ("fail", {"answer": """printf '{"status":%s,"conditions":[{"type":"A","status":"True"}]}' "$spec" """}),
    ],
    "status-schema": [("fail", {"answer": """printf '{"status":[%s]}' "$spec" """})],
    "schema-keywords": [("warn", {"kind": {"status_schema": {"type": "object", "requird": ["spec"]}}})],
    "describe": [
        (
            "fail",
            {
                "before": """case $request in *'"trigger":"describe"'*)
                  echo '{"describe":{"kind":"other","kind_version":1,"reactions":[]}}'; exit 0 ;; esac"""
            },
        ),
        (
            "fail",
            {
                "before": """case $request in *'"trigger":"describe"'*)
                  echo '{"describe":{"kind":"mutant"}}'; exit 0 ;; esac"""
            },
        ),
    ],
    "empty-spec": [("warn", {"work": "case $spec in '{}') exit 1 ;; esac"})],
    "absent-spec": [("warn", {"work": "case $spec in null) exit 1 ;; esac"})],
    "other-types": [("warn", {"work": "case $spec in [!{n]*) exit 1 ;; esac"})],
    "full-spec": [("warn", {"work": "case $spec in *flag*) exit 1 ;; esac", "kind": FLAG, "specs": []})],
    "huge-spec": [("fail", {"answer": """/usr/bin/env printf '{"status":{"spec":%s}}' "$spec"; exit"""})],
    "idempotent": [
        (
            "fail",
            {
                "work": """name=${request#*'"name":"'}
                  case $request in *specChange*) mkdir "${0%/*}/made-${name%%'"'*}" || exit 1 ;; esac"""
            },
        ),
        ("warn", {"answer": """printf '{"status":{"spec":%s,"pid":%d}}' "$spec" $$"""}),
    ],
    "resync": [("fail", {"before": """case $request in *'"trigger":"resync"'*) exit 1 ;; esac"""})],
    "delete-twice": [
        (
            "fail",
            {
                "delete": """name=${request#*'"name":"'}
                  mkdir "${0%/*}/deleted-${name%%'"'*}" || exit 1; echo '{}'; exit 0"""
            },
        )
    ],
    "unknown-fields": [("fail", {"before": "case $request in *x_check*) exit 2 ;; esac"})],
    "end-of-input": [("fail", {"after": "exec >/dev/null; sleep 60"})],
    "sigterm": [("fail", {"first": "trap '' TERM"})],
    "broken-pipe": [("fail", {"first": "trap '' PIPE", "after": "echo 2>/dev/null || sleep 60"})],
    "descendants": [
        ("fail", {"after": "sleep 60 >/dev/null 2>&1 &"}),
        ("fail", {"after": "setsid sleep 60 >/dev/null 2>&1 & sleep 0.05"}),
    ],
    "environment": [("warn", {"before": ": ${HOME:?}"})],
    "read-only-folder": [("warn", {"before": "( : >scratch ) || exit 1"})],
    "clean-up": [("fail", {"delete": "case $request in *check-quoting*) exit 1 ;; *) exit 0 ;; esac"})],
}
HELLO = """print(json.dumps({"hello": {"protocol": 1, "%s": True}}), flush=True)
"""
CUT = """line = json.dumps({"id": message["id"]} | answered(message), ensure_ascii=False)
        print(line.splitlines()[0], flush=True)"""
GLUED = """status = '' if "deleteRequested" in line else f', "status": {{"text": "{text(message)}"}}'
        print(f'{{"id": "{message["id"]}"{status}}}', flush=True)"""
SLOPPY = r"""
waiting, held = [], []
def lines():
    rest = b""
    while chunk := os.read(0, 1 << 20):
        *waiting[:], rest = (rest + chunk).split(b"\n")
        while waiting:
            yield waiting.pop(0)
sys.stdin = lines()
def forget(message):
    if not waiting:
        put(message, answered(message))
def mix_up(message):
    held.append(message)
    if not waiting:
        for one, other in zip(held, reversed(held)):
            put(one, answered(other))
        held.clear()
"""
ONE_SPEC = """import threading
def last_spec(request):
    global spec
    spec = request.get("spec")
    time.sleep(0.05)
    put(request, answered(request) and {"status": {"spec": spec}})
"""
EVERYTHING = """print('{"hello": {"protocol": 1, "cancel": true, "config": true, "shutdown": true}}', flush=True)"""
OBEDIENT = 'if "shutdown" in message: break'
FOUR = {"concurrency": 4}
STREAM = {
    "answer": [
        ("fail", {"before": "sys.exit(2)"}),
        ("fail", {"reply": "print('Hello!', flush=True); break"}),
        ("fail", {"reply": """print('{"status": NaN}', flush=True)"""}),
    ],
    "flush": [("fail", {"reply": "print(json.dumps(answered(message)))"})],
    "one-line": [("fail", {"reply": "print(json.dumps(answered(message), indent=2), flush=True)"})],
    "one-answer": [("fail", {"reply": "put(message, {}); put(message, {})"})],
    "other-types": [("fail", {"answer": 'echo(dict(request.get("spec") or {}))'})],
    "unicode": [
        ("fail", {"answer": 'echo(text(request).encode("ascii", "replace").decode())'}),
        ("fail", {"answer": 'echo(text(request).encode().decode("latin-1"))'}),
        ("fail", {"reply": CUT}),
        ("warn", {"answer": 'echo(text(request).replace(chr(0x301), ""))'}),
    ],
    "quoting": [
        ("fail", {"reply": GLUED}),
        ("fail", {"answer": r"""echo(os.popen(f"cat <<END\n{text(request)[:5000]}\nEND").read()[:-1])"""}),
        ("warn", {"answer": """echo(text(request).replace('"', "'"))"""}),
    ],
    "numbers": [("fail", {"read": "parse_int=float"})],
    "number-spelling": [("warn", {"read": "parse_float=lambda number: int(float(number))"})],
    "next-request": [("fail", {"control": "break"})],
    "ids": [
        ("warn", {"reply": "print(json.dumps(answered(message)), flush=True)"}),
        ("fail", {"reply": "print(json.dumps(answered(message)), flush=True)", "config": FOUR}),
        ("fail", {"reply": 'put({"id": message["name"]}, answered(message))'}),
        ("fail", {"before": "count = iter(range(1, 99))", "reply": 'put({"id": str(next(count))}, answered(message))'}),
    ],
    "concurrency": [
        ("fail", {"before": SLOPPY, "reply": "forget(message)", "config": FOUR}),
        ("fail", {"before": SLOPPY, "reply": "mix_up(message)", "config": FOUR}),
        (
            "fail",
            {
                "before": ONE_SPEC,
                "reply": "threading.Thread(target=last_spec, args=(message,)).start()",
                "config": FOUR,
            },
        ),
    ],
    "cancel": [
        ("fail", {"before": HELLO % "cancel", "control": 'if "cancel" in message: break'}),
        ("fail", {"before": HELLO % "cancel" + SLOPPY, "reply": "forget(message)"}),
    ],
    "config-line": [("fail", {"before": HELLO % "config", "control": 'if list(message) == ["config"]: break'})],
    "shutdown": [("fail", {"before": HELLO % "shutdown"})],
    "end-of-input": [("fail", {"after": "time.sleep(60)"}), ("warn", {"after": "sys.exit(1)"})],
    "sigterm": [("fail", {"before": "signal.signal(signal.SIGTERM, signal.SIG_IGN)"})],
}
MUTANTS = [
    pytest.param(mode, case, verdict, parts, id=f"{mode}-{case}-{number}")
    for mode, table in (("oneshot", ONESHOT), ("stream", STREAM))
    for case, mutants in table.items()
    for number, (verdict, parts) in enumerate(mutants, 1)
]


@pytest.mark.parametrize(("mode", "case", "verdict", "parts"), MUTANTS)
def test_a_program_with_one_mistake_is_caught_by_exactly_its_case(
    mode, case, verdict, parts, oneshot, stream, declare, checked
):
    make = oneshot if mode == "oneshot" else stream
    program = make(**{name: part for name, part in parts.items() if name not in ("kind", "specs")})
    declare(**parts.get("kind", {}))

    found, report = checked(program, specs=parts.get("specs", [{"name": "Ada"}]))

    assert found == {case: verdict}, conformance.as_text(report)


def test_a_program_without_a_mistake_passes_every_case_of_its_mode(oneshot, stream, checked):
    for program in (oneshot(), stream(), stream(before=EVERYTHING, control=OBEDIENT, config=FOUR)):
        found, report = checked(program)
        assert found == {}
        assert report.passed


def test_every_case_has_a_program_that_it_catches():
    assert {case.id for case in conformance.CASES} == ONESHOT.keys() | STREAM.keys()
