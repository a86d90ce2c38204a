"""The stand-in is no part of stackctl: its tests import it from stacks/, and plants from tests/bench."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for place in (ROOT / "stacks/standin/python", ROOT):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
