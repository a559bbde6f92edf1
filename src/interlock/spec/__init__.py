"""The machine format: read it, check it, compile it. Build time only; nothing that runs a session imports this."""
