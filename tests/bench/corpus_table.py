"""How often the linter is right about launch commands found in public, release by release.

    just bench corpus [--versions 0.5.15,0.5.23]

Each release is the real one: from the store, or fetched from the package index as a stack's base would be. A finding
is a rule that fired with an error or a warning for one command on one card; precision is the share of those that the
corpus expects, recall the share of the expected ones that were found. Exits 1 when a release has a false or a missed
one, or cannot be had.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from stackctl.app import App
from stackctl.commands.linting.ground import Read, ground
from stackctl.errors import StackctlError
from tests.launch_corpus import FILES, VERSIONS, cases, said, wanted


@dataclass
class Score:
    right: int = 0
    false: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    commands: int = 0
    clean: int = 0  # commands that nothing is expected of

    @property
    def precision(self) -> float:
        return self.right / (self.right + len(self.false)) if self.right or self.false else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + len(self.missed)) if self.right or self.missed else 1.0


def score(read: Read, version: str) -> Score:
    made = Score()
    for case in (case for file in FILES for case in cases(version, file)):
        got, right = said(case, read.upstream, read.history), wanted(case)
        made.commands += 1
        made.clean += not right
        made.right += len(got & right)
        made.false += [f"{case.id}: {rule}" for rule in sorted(got - right)]
        made.missed += [f"{case.id}: {rule}" for rule in sorted(right - got)]
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", default=",".join(VERSIONS), help="comma separated")
    ports, bad = App().ports, 0
    heads = "".join(f" {word:>9}" for word in ("commands", "clean", "right", "false", "missed", "precision", "recall"))
    print(f"{'sglang':13}{heads}")
    for version in parser.parse_args().versions.split(","):
        try:
            read = ground(ports, f"sglang=={version}")
        except StackctlError as error:
            print(f"{version:13} not fetched: {error}")
            bad += 1
            continue
        one = score(read, version)
        bad += len(one.false) + len(one.missed)
        counts = (one.commands, one.clean, one.right, len(one.false), len(one.missed))
        print(f"{version:13}{''.join(f' {count:9}' for count in counts)} {one.precision:9.1%} {one.recall:9.1%}")
        for what, names in (("false", one.false), ("missed", one.missed)):
            for name in names:
                print(f"              {what}: {name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
