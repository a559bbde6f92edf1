"""The pages that people look at: ``/talk``, ``/inspect``, and a trace as one self-contained file. docs/pages.md."""
