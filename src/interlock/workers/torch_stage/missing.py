"""The one import of torch in this package, which says what to install where there is none."""

from __future__ import annotations

try:
    import torch
except ImportError as error:
    raise ImportError(f"{error.name} is not there: install interlock[torch]", name=error.name) from error

__all__ = ["torch"]
