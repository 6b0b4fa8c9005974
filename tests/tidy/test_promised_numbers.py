"""The numbers that pages promise are those of the code."""

from pathlib import Path

import pytest

from stdworker.bridge import conversation, oneshot, places, pools, redact, runtime, supervision
from stdworker.bridge.describe import DESCRIBE_SECONDS
from stdworker.bridge.launch import Limits
from stdworker.engine.reconcile.deliver import ATTEMPTS_MAX
from stdworker.engine.reconcile.verbs import DEAD_LETTERS_KEEP
from stdworker.framing.response import SHOWN_BYTES_MAX
from stdworker.model.json_text import DEPTH_MAX, NUMBER_CHARACTERS_MAX
from stdworker.process import confinement, guardian_program, orphans
from stdworker.worker.pace import Pace
from stdworker.worker.watchdog import STUCK_SECONDS

ROOT = Path(__file__).parents[2]
PROGRAMS, DIAGNOSIS, PROTOCOL = "docs/programs.md", "docs/diagnosis.md", "protocol/stdio/v1/README.md"
RUNNING = "docs/running.md"
WORDS = {2: "two", 5: "five"}
ORDINALS = {3: "third"}
MINUTE = 60.0

DEATHS = WORDS[supervision.DEATHS_MAX]
DEATHS_WITHIN = f"within {WORDS[int(supervision.DEATHS_WITHIN_SECONDS / MINUTE)]} minutes"
DELAYS = f"after {supervision.DELAY_SECONDS_MIN:g}, 2, 4 … {supervision.DELAY_SECONDS_MAX:g} s"

SENTENCES = [
    (PROGRAMS, f"is started again {DELAYS}"),
    (PROGRAMS, f"then {DELAYS}"),
    (PROGRAMS, f"{DEATHS} such deaths {DEATHS_WITHIN}"),
    (PROGRAMS, f"or stays up for {places.PROBE_SECONDS:g} s"),
    (PROGRAMS, f"after the {ORDINALS[supervision.MISTAKES_MAX]} in a row"),
    (PROGRAMS, f"SIGKILL {confinement.CPU_GRACE_SECONDS} s of processor time later"),
    (DIAGNOSIS, f"the last {Limits().stderr_tail_bytes >> 10} KiB of stderr"),
    (DIAGNOSIS, f"the first {SHOWN_BYTES_MAX} bytes of what was received"),
    (DIAGNOSIS, f"{WORDS[runtime.BUSY_TRIES_MAX]} tries were made"),
    (DIAGNOSIS, f"| more than {NUMBER_CHARACTERS_MAX:,} |"),
    (PROTOCOL, f"{DEATHS.capitalize()} deaths of an idle process {DEATHS_WITHIN}"),
    (PROTOCOL, f"all within {DESCRIBE_SECONDS:g} s"),
    (PROTOCOL, f"nesting deeper than {DEPTH_MAX}"),
    (PROTOCOL, f"the next ones {DELAYS}"),
    (RUNNING, f"or {ATTEMPTS_MAX} times where that is 0"),
    (RUNNING, f"The youngest {DEAD_LETTERS_KEEP:,} are kept"),
    (RUNNING, f"is stuck for {STUCK_SECONDS:g} s"),
]


@pytest.mark.parametrize(("page", "sentence"), SENTENCES)
def test_a_number_on_a_page_is_that_of_the_code(page, sentence):
    assert sentence in " ".join((ROOT / page).read_text().split())


def test_delays_are_spread_by_a_quarter_and_begin_anew_after_a_minute():
    assert (supervision.JITTER, supervision.STABLE_SECONDS, pools.POOL_IDLE_SECONDS) == (0.25, MINUTE, MINUTE)


def test_a_program_and_its_file_are_waited_for_as_long_as_the_protocol_says():
    assert oneshot.LINGER_SECONDS == 1.0
    assert conversation.HINT_SECONDS == 5.0
    assert runtime.BUSY_SECONDS == 0.05
    assert redact.CHARACTERS_MIN == 6


def test_nothing_outlives_a_killed_worker_by_more_than_five_seconds():
    assert guardian_program.GRACE_SECONDS + 2 * guardian_program.SEARCH_SECONDS < 5


def test_what_left_its_group_is_found_within_a_second():
    assert orphans.LOOK_SECONDS <= orphans.IDLE_LOOK_SECONDS <= 1.0


def test_a_worker_beats_often_enough_for_a_broker_that_waits_fifteen_seconds():
    assert Pace().heartbeat_seconds * 3 <= 15


def test_a_half_open_connection_is_noticed_within_45_seconds_by_either_way():
    pace = Pace()

    assert pace.silence_seconds <= 45
    assert pace.pull_base_seconds + pace.pull_answer_seconds <= 45


def test_readiness_is_asked_for_every_two_seconds_and_configs_every_minute():
    assert (Pace().readiness_seconds, Pace().pull_seconds) == (2.0, MINUTE)
