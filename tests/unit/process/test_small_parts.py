"""The environment, the end of stderr, and how exits are worded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdworker.process.environment import program_environment
from stdworker.process.exits import Exit
from stdworker.process.tail import Tail

HOST = {
    "PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "AWS_SECRET": "s", "TLS_KEY_FILE": "k", "BROKER_ADDR": "b",
    "DATABASE_URL": "d",
}  # fmt: skip


def test_only_the_allow_list_is_passed():
    environment = program_environment(HOST, extra={})

    assert environment == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}


def test_names_can_be_passed_through_but_never_the_way_to_the_broker():
    environment = program_environment(HOST, passthrough=["AWS_SECRET", "TLS_KEY_FILE", "DATABASE_URL"], extra={})

    assert environment["AWS_SECRET"] == "s"
    assert not {"TLS_KEY_FILE", "DATABASE_URL"} & environment.keys()


def test_inheriting_all_still_withholds_the_way_to_the_broker():
    environment = program_environment(HOST, inherit=True, extra={})

    assert environment["AWS_SECRET"] == "s"
    assert not {"TLS_KEY_FILE", "DATABASE_URL", "BROKER_ADDR"} & environment.keys()


def test_what_the_config_says_wins():
    assert program_environment(HOST, extra={"PATH": "/mine", "LANG": "de"})["PATH"] == "/mine"


def test_a_host_without_environment_still_gives_a_path_and_utf_8():
    assert program_environment({}, extra={}).keys() == {"PATH", "LANG", "PYTHONUNBUFFERED"}


@given(st.lists(st.binary(max_size=40)), st.integers(0, 50))
def test_a_tail_is_the_end_of_what_came_in_bounded_memory(chunks, bytes_max):
    tail = Tail(bytes_max)
    for chunk in chunks:
        tail.add(chunk)
    content = b"".join(chunks)

    assert content.endswith(tail.value())
    assert min(len(content), bytes_max) <= len(tail.value()) <= 2 * bytes_max


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (Exit.from_returncode(0), "exit status 0"),
        (Exit.from_returncode(1), "exit status 1"),
        (Exit.from_returncode(126), "not executable"),
        (Exit.from_returncode(127), "not found"),
        (Exit.from_returncode(137), "how a shell says that its command was killed by SIGKILL"),
        (Exit.from_returncode(143), "killed by SIGTERM"),
        (Exit.from_returncode(-11), "killed by SIGSEGV"),
        (Exit.from_returncode(-9), "not by this worker; the kernel kills a process like this when memory runs out"),
        (Exit.from_returncode(-9, "deadline"), "killed by SIGKILL by this worker (deadline)"),
        (Exit.from_returncode(-15, "cancel"), "killed by SIGTERM by this worker (cancel)"),
    ],
)
def test_an_exit_is_worded(ended, words):
    assert words in str(ended)
