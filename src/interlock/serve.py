"""The composition root: one host, its stages and its doors, made from settings."""
