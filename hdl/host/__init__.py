"""The host's side: registers, tables, counters, DMA."""
