"""What is under way: payload slots, scoreboard, loss rule, timers, resends."""
