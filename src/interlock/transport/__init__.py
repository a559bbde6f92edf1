"""The client's side of a session: endpoint, writer, and a reference client."""
