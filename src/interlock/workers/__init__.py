"""The stages' side of a session: links, worker processes, and the loop inside them."""
