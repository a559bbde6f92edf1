"""What the program that embeds us does wrong, as an error to it and to nobody else."""

from __future__ import annotations

from interlock.errors import InterlockError


class Misuse(InterlockError, RuntimeError):
    """A runtime was called from where it does not live, or when it does not. The embedding program mends it."""
