"""`mainspring` and `python -m mainspring`. `mainspring exec` starts without loading the other commands."""

import sys

from mainspring.cli.exec import read_plain, run_program


def main() -> None:
    if (plain := read_plain(sys.argv[1:])) is not None:
        run_program(*plain)
    from mainspring.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
