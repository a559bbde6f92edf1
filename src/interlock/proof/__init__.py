"""Proof tools: explore, sweep, fuzz and replay, over the same code that runs."""
