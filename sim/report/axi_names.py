"""What the signals of AXI are for (AMBA AXI and AXI4-Stream specifications), in a line each."""

__all__ = ["AXI_SIGNALS"]

_ADDRESS = {
    "id": "identifier of the burst.",
    "addr": "address of the first octet.",
    "len": "transfers in the burst, less one.",
    "size": "octets in a transfer, as a power of two.",
    "burst": "kind of burst; always 1, rising addresses.",
    "cache": "memory attributes.",
    "prot": "protection attributes.",
    "valid": "an address is offered.",
    "ready": "the address is taken.",
}

#: Meaning of each signal, by the name that it has behind the name of its interface.
AXI_SIGNALS = {
    "tdata": "Data; the first octet is lowest.",
    "tkeep": "Which octets of the data there are.",
    "tlast": "Last beat of a frame.",
    "tuser": "What is known of the frame, in its last beat.",
    "tvalid": "A beat is offered.",
    "tready": "The beat is taken.",
    **{f"ar{name}": f"Read: {text}" for name, text in _ADDRESS.items()},
    **{f"aw{name}": f"Write: {text}" for name, text in _ADDRESS.items()},
    "rid": "Read: identifier of the burst.",
    "rdata": "Read: data; the octet at the lowest address is lowest.",
    "rresp": "Read: response; 2 and 3 are errors.",
    "rlast": "Read: last transfer of the burst.",
    "rvalid": "Read: data are offered.",
    "rready": "Read: the data are taken.",
    "wdata": "Write: data; the octet at the lowest address is lowest.",
    "wstrb": "Write: which octets of the data are to be written.",
    "wlast": "Write: last transfer of the burst.",
    "wvalid": "Write: data are offered.",
    "wready": "Write: the data are taken.",
    "bid": "Write: identifier of the burst.",
    "bresp": "Write: response; 2 and 3 are errors.",
    "bvalid": "Write: a response is offered.",
    "bready": "Write: the response is taken.",
}
