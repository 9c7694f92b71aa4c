"""The receiving half of the transport: window, placement, protection, reports."""
