"""Drawings of machines: DOT text from a table, and SVG from the DOT."""
