"""Experiments, a file each."""
