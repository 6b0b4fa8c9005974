"""`python -m stdworker` is the `stdworker` command."""

from stdworker.cli.worker import main

if __name__ == "__main__":
    main()
