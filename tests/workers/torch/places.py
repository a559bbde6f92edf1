"""Where tests of models run: on the CPU, or, in ``make gpu``, on the device that the environment names."""

from __future__ import annotations

import os

DEVICE = os.environ.get("INTERLOCK_TEST_DEVICE", "cpu")
