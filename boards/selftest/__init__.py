"""The on-chip test: NICs, a switch between them, generators of traffic, and checkers."""
