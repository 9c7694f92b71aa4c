"""The outward lane of a port."""

from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import SlotRead, TxDescriptor
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_fifo import CommitFifo

from .header_builder import HEADER_OCTETS_MAX, INNER_STARTS, PAYLOAD_STARTS, HeaderBuilder
from .icrc_maker import IcrcMaker
from .port_gate import PortGate
from .room_keeper import RoomKeeper
from .srv6_inserter import Srv6Inserter

__all__ = ["EgressLane"]

#: Packets of the greatest length for which there is room besides what is in the pipeline: one that
#: leaves, one that waits, and one that is asked for.
_PACKETS = 3


class EgressLane(wiring.Component):
    """Make frames of descriptors and payload.

    A descriptor that is taken becomes a frame: headers, payload, pad, ICRC. It is stored whole
    before it is offered to the MAC, so that it has no idle beats. While the port is down, no
    descriptor is taken, and frames that wait are dropped; a frame that was started is finished.

    The first beat leaves the inserter three cycles after the descriptor was taken and enters the
    FIFO five cycles later (with 64 octets per beat). A frame of ``n`` beats whose payload is there
    in time is offered to the MAC ``n + latency`` cycles after its descriptor was taken. One beat
    per cycle passes everywhere, without a bubble between packets.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    port : :class:`int`
        Which port this is, for its settings.

    Attributes
    ----------
    beats_max : :class:`int`
        Beats of the longest frame.
    latency : :class:`int`
        Cycles from descriptor to MAC, besides one for each beat.

    Members
    -------
    i : ``In(stream.Signature(TxDescriptor(config)))``
        Packets to be sent. ``ready`` says that there is room for a packet of any length; it stays
        set until a transfer. Packets are taken while the port is down as well, and dropped, so that
        none that was on its way waits for a port that may never come back.
    fetch : ``Out(stream.Signature(SlotRead(config)))``
        A request for the payload of each packet that has any, in order.
    payload : ``In(packet_signature(config.beat_octets))``
        What was asked for.
    o : ``Out(packet_signature(config.beat_octets))``
        Frames for the MAC.
    settings : ``In(Settings(config))``
        Addresses and values for headers.
    now : ``In(NOW_BITS)``
        Time.
    up : ``In(1)``
        The port is up.
    events : ``Out(StructLayout({"tx_packet_sent": 1, "tx_dropped_port_down": 1}))``
        A frame was handed over to the MAC; a frame was dropped because the port went down.

    Raises
    ------
    ValueError
        If ``port`` is not below ``config.lanes``.
    """

    def __init__(self, config: NicConfig, *, port: int):
        self.config = config
        self.port = index(port)
        if self.port not in range(config.lanes):
            raise ValueError(f"port must be below lanes, which are {config.lanes}, not {port}")
        octets = config.beat_octets
        self._builder = HeaderBuilder(config, port=self.port)
        self._inserter = Srv6Inserter(
            octets=octets,
            header_octets=HEADER_OCTETS_MAX,
            packet_octets=self._builder.packet_octets_max,
            starts=PAYLOAD_STARTS,
        )
        self._icrc_maker = IcrcMaker(octets=octets, starts=INNER_STARTS)
        self.beats_max = -(-self._builder.packet_octets_max // octets)
        # Builder 2, inserter 1, FIFO 3, gate 1; the first beat itself is one of those counted.
        self.latency = 2 + 1 + self._icrc_maker.latency + 3 + 1 - 1
        depth = 1 << (_PACKETS * self.beats_max + self.latency - 1).bit_length()
        self._fifo = CommitFifo(Beat(octets), depth=depth)
        super().__init__({
            "i": In(stream.Signature(TxDescriptor(config))),
            "fetch": Out(stream.Signature(SlotRead(config))),
            "payload": In(packet_signature(octets)),
            "o": Out(packet_signature(octets)),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "up": In(1),
            "events": Out(data.StructLayout({"tx_packet_sent": 1, "tx_dropped_port_down": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.builder = builder = self._builder
        m.submodules.inserter = inserter = self._inserter
        m.submodules.icrc_maker = icrc_maker = self._icrc_maker
        m.submodules.fifo = fifo = self._fifo
        m.submodules.gate = gate = PortGate(octets=self.config.beat_octets)
        m.submodules.keeper = keeper = RoomKeeper(depth=fifo.depth, beats_max=self.beats_max)

        self._take(m, builder, keeper)

        connect(m, builder.o, inserter.i)
        connect(m, flipped(self.payload), inserter.payload)
        connect(m, inserter.o, icrc_maker.i)
        m.d.comb += fifo.i.valid.eq(icrc_maker.o.valid)  # room was kept, so it is ready
        m.d.comb += fifo.i.payload.eq(icrc_maker.o.payload)
        connect(m, fifo.o, gate.i)
        connect(m, gate.o, flipped(self.o))

        low = (self.config.beat_octets - 1).bit_length()
        total = builder.o.payload.total
        m.d.comb += keeper.measured.valid.eq(builder.o.valid & builder.o.ready)
        m.d.comb += keeper.measured.beats.eq((total + self.config.beat_octets - 1) >> low)
        m.d.comb += keeper.left.eq(fifo.o.valid & fifo.o.ready)

        m.d.comb += builder.settings.eq(self.settings)
        m.d.comb += builder.now.eq(self.now)
        m.d.comb += gate.up.eq(self.up)
        m.d.comb += self.events.tx_packet_sent.eq(gate.passed)
        m.d.comb += self.events.tx_dropped_port_down.eq(gate.dropped)

        return m

    def _take(self, m, builder, keeper):
        """Take descriptors, and ask for their payload."""
        taken = Signal()
        fetch_free = Signal()
        m.d.comb += fetch_free.eq(self.fetch.ready | ~self.fetch.valid)
        m.d.comb += self.i.ready.eq(builder.i.ready & keeper.room & fetch_free)
        m.d.comb += taken.eq(self.i.valid & self.i.ready)
        m.d.comb += builder.i.valid.eq(taken)
        m.d.comb += builder.i.payload.eq(self.i.payload)
        m.d.comb += keeper.start.eq(taken)
        with m.If(fetch_free):
            m.d.sync += self.fetch.valid.eq(taken & (self.i.payload.octets != 0))
            m.d.sync += self.fetch.payload.slot.eq(self.i.payload.slot)
            m.d.sync += self.fetch.payload.octets.eq(self.i.payload.octets)
