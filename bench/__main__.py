"""`python -m bench [--size small|full] [NAME…]`: run the benchmarks and print each figure beside its budget."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import pkgutil
import sys
from types import ModuleType

import bench
from bench.figure import Figure


def modules() -> dict[str, ModuleType]:
    """Every module of the package that is a benchmark, by its name."""
    names = [info.name for info in pkgutil.iter_modules(bench.__path__) if info.name != "__main__"]
    found = [importlib.import_module(f"bench.{name}") for name in names]
    return {module.NAME: module for module in found if hasattr(module, "run")}


def line(figure: Figure) -> str:
    value = f"{figure.value:,.2f}" if figure.value < 100 else f"{figure.value:,.0f}"
    verdict = {None: "", True: "ok", False: "MISSED"}[figure.ok]
    return f"  {figure.name:48} {value:>12} {figure.unit:14} {figure.budget:>12}  {ratio(figure)} {verdict}".rstrip()


def ratio(figure: Figure) -> str:
    """Value ÷ budget, where the budget is a number."""
    text = figure.budget.lstrip("≥≤ ").replace(",", "").split(" ")[0]
    try:
        return f"{figure.value / float(text):6.2f}×"
    except (ValueError, ZeroDivisionError):
        return " " * 7


async def main(size: str, chosen: list[ModuleType]) -> bool:
    good = True
    for module in chosen:
        print(f"{module.NAME}: {module.BUDGET}", flush=True)
        for figure in await module.run(size):
            print(line(figure), flush=True)
            good &= figure.ok is not False
    return good


if __name__ == "__main__":
    known = modules()
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--size", choices=["small", "full"], default="full")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; without one all but the longest"
    )
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; they are {', '.join(known)}")
    print(f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, size {given.size}")
    if given.size == "small":
        print("This size shows that the benchmarks run; its figures say little.")
    chosen = given.names or [name for name, module in known.items() if not hasattr(module, "ONLY_NAMED")]
    good = asyncio.run(main(given.size, [known[name] for name in chosen]))
    sys.exit(0 if good or given.size == "small" else 1)
