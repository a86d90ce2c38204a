"""`python -m stackctl`."""

from stackctl.cli import entry

if __name__ == "__main__":
    entry()
