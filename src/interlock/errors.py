"""Every error Interlock raises, by whose fault it is.

``MachineError`` is the author of a machine file, ``ClientError`` the peer on the wire, ``Defect`` us,
and ``WorldError`` something that nobody here controls. A client error carries the code that goes on the wire.
"""

from __future__ import annotations


class InterlockError(Exception):
    """Root of all errors raised on purpose."""


class MachineError(InterlockError):
    """A machine file, or what Python binds to it, is wrong. The author of the machine mends it."""


class Defect(InterlockError):
    """A declared machine met an event that its state does not list. We mend it."""


class WorldError(InterlockError):
    """A stage, a transport or a process did what the world does: it failed."""


class ClientError(InterlockError):
    """The peer asked for something it may not have; nothing changed.

    ``code`` is the wire code (docs/wire.md lists them); ``retryable`` says that the same request may succeed later.
    """

    def __init__(self, code: str, message: str = "", *, retryable: bool = False, param: str | None = None) -> None:
        super().__init__(message or code)
        self.code = code
        self.retryable = retryable
        self.param = param


class LimitReached(ClientError):
    """A declared limit is full: the one who hit it is told, and nobody else notices."""

    def __init__(self, limit: str, value: int, code: str = "resource_exhausted") -> None:
        super().__init__(code, f"{limit} = {value} is reached; try again when something has ended", retryable=True)
        self.limit = limit
        self.value = value
