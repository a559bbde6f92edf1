"""What the speech stages share: how a request is admitted, and what is said where the extra is not installed."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.errors import Defect, LimitReached


def admit(opened: Mapping[str, object], request_id: str, capacity: int, stage: str) -> None:
    """Check that ``request_id`` may take a slot.

    Raises ``LimitReached`` where ``capacity`` requests are open already, and ``Defect`` for an id that is open: the
    loop never opens one twice.
    """
    if request_id in opened:
        raise Defect(f"{stage}: request {request_id!r} is open already")
    if len(opened) >= capacity:
        raise LimitReached(f"{stage}.capacity", capacity)


def missing(error: ImportError) -> ImportError:
    """Say which extra brings the library that was not found."""
    return ImportError(f"{error.name} is not there: install interlock[speech]", name=error.name)
