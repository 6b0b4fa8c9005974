"""The cases, in the order in which they run."""

from stdworker.testing.conformance.cases import (
    cleaning,
    contract,
    documents,
    life,
    output,
    persistent,
    repetition,
    surroundings,
)
from stdworker.testing.conformance.verdict import Case

CASES: tuple[Case, ...] = (
    *output.CASES,
    *contract.CASES,
    *documents.CASES,
    *repetition.CASES,
    *persistent.CASES,
    *life.CASES,
    *surroundings.CASES,
    *cleaning.CASES,
)
