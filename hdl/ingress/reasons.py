"""Why a received frame is dropped, in plain Python."""

__all__ = ["CHECKS", "EVENTS"]

#: Checks and the event that each one counts as. A frame counts by the first that it fails: what is
#: looked at later may not even be there.
CHECKS = {
    "disabled": "rx_port_disabled",
    "bad_frame": "rx_bad_frame",
    "runt": "rx_runt",
    "long_frame": "rx_oversize",
    "ether_type": "rx_not_ipv6",
    "outermost_version": "rx_bad_version",
    "outer_destination": "rx_not_ours",
    "srh": "rx_bad_srh",
    "srh_support": "rx_srh_unsupported",
    "srh_next_header": "rx_bad_next_header",
    "no_ipv6": "rx_bad_length",
    "version": "rx_bad_version",
    "destination": "rx_not_ours",
    "next_header": "rx_bad_next_header",
    "no_bth": "rx_bad_length",
    "udp_port": "rx_bad_port",
    "trimmed": "rx_trimmed",
    "length": "rx_bad_length",
    "tver": "rx_bad_tver",
    "pkey": "rx_bad_pkey",
    "opcode": "rx_bad_opcode",
    "no_extension": "rx_bad_length",
    "pad": "rx_bad_pad",
    "long_payload": "rx_oversize",
}

#: All events of a lane. Those that no check counts: the ICRC is wrong, the opcode is not served,
#: no room for the descriptor; then a packet that was handed on, and one that was handed on without
#: its payload, for which there was no room.
EVENTS = (
    *dict.fromkeys(CHECKS.values()),
    "rx_icrc_error",
    "rx_unsupported",
    "rx_no_descriptor",
    "rx_packets",
    "rx_no_room",
)
