"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# a busy machine is no fault of the code
settings.register_profile("stackctl", deadline=None)
settings.load_profile("stackctl")
