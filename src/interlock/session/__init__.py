"""The sans-IO core of a session: one frozen value, and one pure function that decides."""
