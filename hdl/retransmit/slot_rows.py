"""What is known of the packet in each slot."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.body import WriteBody
from mrcnic.hdl.descriptor.sizes import index_bits, slot_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.psn import PSN_BITS

from .allocator import Allocation
from .scoreboard import QpPsn

__all__ = ["SlotContents", "SlotKey", "SlotRows"]


class SlotKey(data.StructLayout):
    """What everybody asks of a packet."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "psn": PSN_BITS,
            "octets": range(config.mtu + 1),
        })


class SlotContents(data.StructLayout):
    """What is needed to send it, besides."""

    def __init__(self, config: NicConfig):
        super().__init__({"opcode": 8, "ack_request": 1, "role": 3, "body": WriteBody()})


class SlotRows(wiring.Component):
    """Keep the packets of all slots, and find the slot of a PSN.

    Written by the allocation alone; an answer comes one cycle after the question.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    readers : :class:`int`
        Number of places that ask for keys.

    Members
    -------
    allocation : ``In(Allocation(config))``
        New packets.
    enable : ``In(1)``
        Of ``slot[0]``: without it, ``key[0]`` and ``contents`` stay as they are.
    slot, key : ``In(slot_bits).array(readers)``, ``Out(SlotKey(config)).array(readers)``
        A slot, and its packet.
    contents : ``Out(SlotContents(config))``
        Rest of the packet of ``slot[0]``.
    at, found : ``In(QpPsn(config))``, ``Out(slot_bits)``
        A PSN under way, and the slot that it was given. Of other PSNs, any slot.
    """

    def __init__(self, config: NicConfig, *, readers: int):
        self.config = config
        self.readers = readers
        bits = slot_bits(config)
        super().__init__({
            "allocation": In(Allocation(config)),
            "enable": In(1),
            "slot": In(bits).array(readers),
            "key": Out(SlotKey(config)).array(readers),
            "contents": Out(SlotContents(config)),
            "at": In(QpPsn(config)),
            "found": Out(bits),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        window_bits = config.window.bit_length() - 1
        keys = DeepMemory(SlotKey(config), depth=config.slots, readers=self.readers)
        contents = DeepMemory(SlotContents(config), depth=config.slots)
        places = DeepMemory(slot_bits(config), depth=config.qps * config.window)
        m.submodules += [keys, contents, places]

        packet = self.allocation.packet
        for table in (keys, contents):
            m.d.comb += table.write.valid.eq(self.allocation.valid)
            m.d.comb += table.write.row.eq(self.allocation.slot)
        for name in ("qp", "psn", "octets"):
            m.d.comb += keys.write.data[name].eq(packet[name])
        for name in ("opcode", "ack_request", "role", "body"):
            m.d.comb += contents.write.data[name].eq(packet[name])
        m.d.comb += [
            places.write.valid.eq(self.allocation.valid),
            places.write.row.eq((packet.qp << window_bits) | packet.psn[:window_bits]),
            places.write.data.eq(self.allocation.slot),
            places.row[0].eq((self.at.qp << window_bits) | self.at.psn[:window_bits]),
            self.found.eq(places.data[0]),
        ]

        m.d.comb += [keys.enable[0].eq(self.enable), contents.enable[0].eq(self.enable)]
        m.d.comb += [contents.row[0].eq(self.slot[0]), self.contents.eq(contents.data[0])]
        for n in range(self.readers):
            m.d.comb += [keys.row[n].eq(self.slot[n]), self.key[n].eq(keys.data[n])]

        return m
