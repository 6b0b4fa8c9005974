"""`python -m stdworker` is the `stdworker` command."""

from stdworker.cli.start import stdworker

if __name__ == "__main__":
    stdworker()
