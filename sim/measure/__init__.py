"""Figures of blocks: cycles from simulation, area and logic depth from synthesis."""
