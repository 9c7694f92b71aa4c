"""Which path a packet takes: EV tables, EV states, the scheduler, uSID carriers."""
