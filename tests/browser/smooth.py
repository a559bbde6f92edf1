"""How smooth the inspector is with many sessions: `python -m tests.browser.smooth [COUNT]` prints what it measures.

The list is scrolled from end to end, one step a frame, while sessions change; the length of each frame and every long
task (over 50 ms, as browsers call it) are taken from the browser itself.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

from tests.browser.serving import TOKEN, crowd

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCROLL = """
async () => {
  const box = document.querySelector(".list .box"), frames = [], tasks = [];
  const watch = new PerformanceObserver((list) => list.getEntries().forEach((entry) => tasks.push(entry.duration)));
  watch.observe({ entryTypes: ["longtask"] });
  const step = box.scrollHeight / 120;
  let before = await new Promise(requestAnimationFrame);
  for (let at = 0; at < 120; at += 1) {
    box.scrollTop = at * step;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
  }
  box.scrollTop = 0;
  watch.disconnect();
  frames.sort((a, b) => a - b);
  const at = (part) => frames[Math.floor((frames.length - 1) * part)];
  return [frames.length, at(0.5), at(0.95), at(1), tasks.length];
}
"""


class Smooth(NamedTuple):
    """What was measured. A frame of a 60 Hz screen takes 16.7 ms."""

    sessions: str
    frames: int
    median_ms: float
    p95_ms: float
    longest_ms: float
    long_tasks: int


def measure(page: Page) -> Smooth:
    """Scroll the list of the inspector that is open."""
    frames, median, p95, longest, tasks = page.evaluate(SCROLL)
    sessions = page.inner_text(".finder output")
    return Smooth(sessions, frames, round(median, 1), round(p95, 1), round(longest, 1), tasks)


def main(count: int) -> None:
    """Measure with so many sessions."""
    from playwright.sync_api import sync_playwright

    with crowd(count) as address, sync_playwright() as running:
        path = shutil.which("chromium")
        with running.chromium.launch(executable_path=path, args=["--no-sandbox"]) as browser:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{address}/inspect")
            page.fill("#token", TOKEN)
            page.press("#token", "Enter")
            page.wait_for_selector(".entry[data-session]")
            sys.stdout.write(f"{measure(page)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
