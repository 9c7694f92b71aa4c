"""Whose a packet is."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxEndpoint
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import FoundEndpoint, PeerWrite

__all__ = ["PeerFinder"]


class PeerFinder(wiring.Component):
    """Look for the remote NIC whose address an endpoint packet comes from.

    A walk compares the packet with each row, one in a cycle, and ends with the first that fits: a
    packet is offered 4 cycles after it was taken, and one more for each row before its own.
    Endpoint packets are rare, and nothing but other endpoint packets waits meanwhile.

    After reset all rows are cleared, in ``peers`` cycles in which nothing is taken. Rows may be
    written after that.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(RxEndpoint(config)))``
        Packets.
    o : ``Out(stream.Signature(FoundEndpoint(config)))``
        The same, and whose they are.
    write : ``In(PeerWrite(config))``
        Rows.
    settings : ``In(Settings(config))``
        Own addresses.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(RxEndpoint(config))),
            "o": Out(stream.Signature(FoundEndpoint(config))),
            "write": In(PeerWrite(config)),
            "settings": In(Settings(config)),
        })

    def elaborate(self, platform):
        m = Module()

        peers = self.config.peers
        shape = data.StructLayout({"valid": 1, "address": 128})
        m.submodules.addresses = addresses = DeepMemory(shape, depth=peers)
        clear = Signal(range(peers + 1))
        clearing = ~clear[-1]
        write = addresses.write
        with m.If(clearing):
            m.d.sync += clear.eq(clear + 1)
            m.d.comb += [write.valid.eq(1), write.row.eq(clear)]
        with m.Else():
            m.d.comb += [
                write.valid.eq(self.write.valid),
                write.row.eq(self.write.peer),
                write.data.valid.eq(self.write.row.valid),
                write.data.address.eq(self.write.row.address),
            ]

        found, source = self.o.payload, self.o.payload.endpoint.source
        searching = Signal()
        # What was asked for, what has come out of the memory, and what has been compared.
        asked = Signal(range(peers + 1))
        read, compared = (Signal(data.StructLayout({"valid": 1, "peer": asked.shape()}), name=n)
                          for n in ("read", "compared"))  # fmt: skip
        hit = Signal()
        row = addresses.data[0]
        m.d.comb += addresses.row[0].eq(asked)
        m.d.comb += self.i.ready.eq(~searching & ~self.o.valid & ~clearing)
        m.d.sync += [
            read.valid.eq(searching & ~asked[-1]),
            read.peer.eq(asked),
            compared.valid.eq(searching & read.valid),
            compared.peer.eq(read.peer),
            hit.eq(row.valid & (row.address == source)),
            found.own.eq(
                (source == self.settings.loopback)
                | ((source == self.settings.loopback_ipv4) & source.any())
            ),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [found.endpoint.eq(self.i.payload), searching.eq(1), asked.eq(0)]
        with m.If(searching):
            with m.If(~asked[-1]):
                m.d.sync += asked.eq(asked + 1)
            with m.If(compared.valid & (found.own | hit | (compared.peer == peers - 1))):
                m.d.sync += [
                    searching.eq(0),
                    self.o.valid.eq(1),
                    found.known.eq(hit & ~found.own),
                    found.peer.eq(compared.peer),
                    read.valid.eq(0),
                    compared.valid.eq(0),
                ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        return m
