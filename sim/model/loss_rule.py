"""When a packet under way counts as lost (docs/protocol.md, "Events")."""

__all__ = ["is_lost"]


def is_lost(
    *,
    stamp: int,
    highest_stamp: int,
    age_ns: int,
    reorder_packets: int,
    threshold_ns: int,
    waived: bool = False,
) -> bool:
    """Return whether a packet under way is lost by the hole rule.

    Parameters
    ----------
    stamp, highest_stamp : :class:`int`
        Place of the packet in the order of sending, and of the latest known to have arrived.
    age_ns : :class:`int`
        Time since it was sent.
    reorder_packets, threshold_ns : :class:`int`
        What both must exceed.
    waived : :class:`bool`
        A probe has answered: only the order counts.
    """
    least = 0 if waived else reorder_packets
    return highest_stamp - stamp > least and age_ns > threshold_ns
