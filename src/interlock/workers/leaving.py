"""Requests that are closed, whose memory a device still works on: their clean-up is confirmed when it has let go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interlock.workers.protocol import Report
from interlock.workers.stage import LateModel, StageModel


class Leaving:
    """Holds back what is to be said of each such request. A model that frees at once never has any."""

    def __init__(self, model: StageModel) -> None:
        self._model = model if isinstance(model, LateModel) else None
        self._reports: dict[str, list[Report]] = {}

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._reports

    def keeps(self, request_id: str, reports: Sequence[Report]) -> bool:
        """Keep the reports of a request that was closed just now, if the device has not let go of it."""
        if self._model is None or not self._model.is_leaving(request_id):
            return False
        self._reports.setdefault(request_id, []).extend(reports)
        return True

    def gone(self) -> Iterator[tuple[str, Sequence[Report]]]:
        """Yield each request that the device has let go of, once, and what is to be said of it."""
        if self._model is None or not self._reports:
            return
        for request_id in [each for each in self._reports if not self._model.is_leaving(each)]:
            yield request_id, self._reports.pop(request_id)
