"""The codec between bytes and messages: pure, and strict on the way in."""
