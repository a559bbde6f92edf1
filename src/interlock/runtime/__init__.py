"""The trio side of a session: ports, driver, deadlines, and the host that owns it all."""
