"""The host's software: tables, queue pairs, memory regions; the same for simulation and boards."""
