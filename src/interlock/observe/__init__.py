"""What can be seen from outside: traces and metrics."""
