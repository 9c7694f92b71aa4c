"""What becomes of a received frame, in plain Python."""

__all__ = ["CHECKS", "EVENTS", "FOREIGN"]

#: Checks and the event that each one counts as. A frame counts by the first that it fails: what is
#: looked at later may not even be there.
CHECKS = {
    "disabled": "rx_port_disabled",
    "bad_frame": "rx_bad_frame",
    "runt": "rx_runt",
    "long_frame": "rx_oversize",
    "vlan": "rx_other_vlan",
    "ether_type": "rx_not_ipv6",
    "outermost_version": "rx_bad_version",
    "outer_destination": "rx_not_ours",
    "no_srh": "rx_bad_length",
    "srh": "rx_bad_srh",
    "srh_support": "rx_srh_unsupported",
    "srh_next_header": "rx_bad_next_header",
    "no_ip": "rx_bad_length",
    "version": "rx_bad_version",
    "destination": "rx_not_ours",
    "next_header": "rx_not_udp",
    "options": "rx_ipv4_options",
    "fragment": "rx_ipv4_fragment",
    "no_udp": "rx_bad_length",
    "udp_port": "rx_bad_port",
    "no_bth": "rx_bad_length",
    "checksum": "rx_bad_checksum",
    "ecn": "rx_bad_ecn",
    "length": "rx_bad_length",
    "tver": "rx_bad_tver",
    "pkey": "rx_bad_pkey",
    "opcode": "rx_bad_opcode",
    "qp": "rx_bad_endpoint_qp",
    "no_extension": "rx_bad_length",
    "pad": "rx_bad_pad",
    "long_payload": "rx_oversize",
}

#: Checks that a frame fails because it is not for this block: it goes to the host as it came.
FOREIGN = (
    "vlan",
    "ether_type",
    "outer_destination",
    "destination",
    "next_header",
    "options",
    "fragment",
    "udp_port",
)

#: All events of a lane. First those of checks, then other fates: the ICRC is wrong; no room for the
#: descriptor, or for an endpoint packet; handed on; handed on although a switch has cut it.
#: Besides, of a frame that was handed on: without its payload, for which there was no room. And of
#: a frame that failed one of the checks ``FOREIGN``: the host gets it; the host's buffer was full.
EVENTS = (
    *dict.fromkeys(CHECKS.values()),
    "rx_icrc_error",
    "rx_no_descriptor",
    "rx_endpoint_no_room",
    "rx_packets",
    "rx_trimmed",
    "rx_no_room",
    "rx_to_host",
    "rx_host_no_room",
)
