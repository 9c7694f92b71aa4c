"""The outward lane of a port."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import SlotRead, TxDescriptor
from mrcnic.hdl.descriptor.settings import LaneSettings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_fifo import CommitFifo

from .header_block import FrameNote
from .header_builder import HeaderBuilder
from .host_store import HostStore
from .icrc_maker import IcrcMaker
from .lane_exit import PAUSE_BITS, LaneExit
from .room_keeper import RoomKeeper
from .srv6_inserter import Srv6Inserter

__all__ = ["EgressLane"]

#: Packets of the greatest length for which there is room besides what is in the pipeline: one that
#: leaves, one that waits, and one that is asked for.
_PACKETS = 3


class EgressLane(wiring.Component):
    """Make frames of descriptors and payload.

    A descriptor that is taken becomes a frame: headers, payload, pad, ICRC. It is stored whole
    before it is offered to the MAC, so that it has no idle beats. So are the host's own frames,
    which pass unchanged; the two take turns as :class:`~.lane_exit.LaneExit` says. While the port
    is down, frames that wait are dropped; a frame that was started is finished.

    The first beat leaves the inserter three cycles after the descriptor was taken and enters the
    FIFO six cycles later (with 64 octets per beat). A frame of ``n`` beats whose payload is there
    in time is offered to the MAC ``n + latency`` cycles after its descriptor was taken. One beat
    per cycle passes everywhere, without a bubble between packets.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

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
        A request for the payload of each packet that has any, in order. It comes a cycle after the
        descriptor is offered, if there is room, even if that cannot be taken yet.
    payload : ``In(packet_signature(config.beat_octets))``
        What was asked for.
    o : ``Out(packet_signature(config.beat_octets))``
        Frames for the MAC.
    settings : ``In(LaneSettings(config))``
        Addresses and values for headers.
    now : ``In(NOW_BITS)``
        Time.
    up : ``In(1)``
        The port is up.
    pause : ``In(PAUSE_BITS)``
        Pauses that the MAC asks for, as levels: of each priority, then of all frames. They count
        if ``settings.port.pause`` is set.
    events : ``Out``
        ``tx_packet_sent``, ``host_tx_sent``: a frame was handed over to the MAC.
        ``tx_dropped_port_down``, ``host_tx_dropped_port_down``: one was dropped because the port
        is down. ``host_tx_too_long``: a frame of more than 9,216 octets was dropped.
        ``tx_paused``: for a cycle, a frame was not started because of a pause.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        octets = config.beat_octets
        self._builder = HeaderBuilder(config)
        sizes = self._builder.sizes
        self._inserter = Srv6Inserter(
            octets=octets,
            packet_octets=sizes.packet_octets,
            starts=sizes.starts,
            user_shape=FrameNote(),
        )
        self._icrc_maker = IcrcMaker(octets=octets)
        self.beats_max = -(-sizes.packet_octets // octets)
        # Builder 2, inserter 1, FIFO 3, exit 1; the first beat itself is one of those counted.
        self.latency = 2 + 1 + self._icrc_maker.latency + 3 + 1 - 1
        depth = 1 << (_PACKETS * self.beats_max + self.latency - 1).bit_length()
        self._fifo = CommitFifo(Beat(octets, user_shape=1), depth=depth)
        events = (
            "tx_packet_sent", "tx_dropped_port_down", "tx_paused", "host_tx_sent",
            "host_tx_dropped_port_down", "host_tx_too_long",
        )  # fmt: skip
        super().__init__({
            "i": In(stream.Signature(TxDescriptor(config))),
            "fetch": Out(stream.Signature(SlotRead(config))),
            "payload": In(packet_signature(octets)),
            "host": In(packet_signature(octets)),
            "o": Out(packet_signature(octets)),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(LaneSettings(config)),
            "now": In(NOW_BITS),
            "up": In(1),
            "pause": In(PAUSE_BITS),
            "events": Out(data.StructLayout(dict.fromkeys(events, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.builder = builder = self._builder
        m.submodules.inserter = inserter = self._inserter
        m.submodules.icrc_maker = icrc_maker = self._icrc_maker
        m.submodules.fifo = fifo = self._fifo
        m.submodules.host_store = host_store = HostStore(octets=self.config.beat_octets)
        m.submodules.gate = gate = LaneExit(octets=self.config.beat_octets)
        m.submodules.keeper = keeper = RoomKeeper(depth=fifo.depth, beats_max=self.beats_max)

        self._take(m, builder, keeper)

        connect(m, flipped(self.table), builder.table)
        connect(m, builder.o, inserter.i)
        connect(m, flipped(self.payload), inserter.payload)
        connect(m, inserter.o, icrc_maker.i)
        m.d.comb += fifo.i.valid.eq(icrc_maker.o.valid)  # room was kept, so it is ready
        m.d.comb += fifo.i.payload.eq(icrc_maker.o.payload)
        connect(m, fifo.o, gate.packets)
        connect(m, flipped(self.host), host_store.i)
        connect(m, host_store.o, gate.host)
        connect(m, gate.o, flipped(self.o))

        low = (self.config.beat_octets - 1).bit_length()
        block = builder.o.payload
        m.d.comb += keeper.measured.valid.eq(builder.o.valid & builder.o.ready & ~block.more)
        m.d.comb += keeper.measured.beats.eq((block.end >> low) + 1)
        m.d.comb += keeper.left.eq(fifo.o.valid & fifo.o.ready)

        m.d.comb += builder.settings.eq(self.settings)
        m.d.comb += builder.now.eq(self.now)
        self._set_gate(m, gate)
        m.d.comb += self.events.tx_packet_sent.eq(gate.sent.packet)
        m.d.comb += self.events.tx_dropped_port_down.eq(gate.dropped.packet)
        m.d.comb += self.events.tx_paused.eq(gate.paused)
        m.d.comb += self.events.host_tx_sent.eq(gate.sent.host)
        m.d.comb += self.events.host_tx_dropped_port_down.eq(gate.dropped.host)
        m.d.comb += self.events.host_tx_too_long.eq(host_store.too_long)

        return m

    def _set_gate(self, m, gate):
        settings = self.settings
        m.d.comb += gate.up.eq(self.up)
        m.d.comb += gate.pause.eq(Mux(settings.port.pause, self.pause, 0))
        m.d.comb += gate.control_priority.eq(settings.pause_priority_control)
        m.d.comb += gate.data_priority.eq(settings.pause_priority_data)
        m.d.comb += gate.host_turns.eq(settings.host_turns)

    def _take(self, m, builder, keeper):
        """Take descriptors, and ask for their payload.

        A descriptor that has to wait for the headers of the packet before asks for its payload at
        once, so that the store's latency passes meanwhile.
        """
        taken = Signal()
        asks = Signal()
        asked = Signal()  # for what the descriptor that is offered needs
        fetch_free = Signal()
        may_ask = keeper.room & fetch_free
        m.d.comb += fetch_free.eq(self.fetch.ready | ~self.fetch.valid)
        m.d.comb += self.i.ready.eq(builder.i.ready & (asked | may_ask))
        m.d.comb += taken.eq(self.i.valid & self.i.ready)
        m.d.comb += asks.eq(self.i.valid & ~asked & may_ask)
        m.d.sync += asked.eq((asked | asks) & ~taken)
        m.d.comb += builder.i.valid.eq(taken)
        m.d.comb += builder.i.payload.eq(self.i.payload)
        m.d.comb += keeper.start.eq(asks)
        with m.If(fetch_free):
            m.d.sync += self.fetch.valid.eq(asks & (self.i.payload.octets != 0))
            m.d.sync += self.fetch.payload.slot.eq(self.i.payload.slot)
            m.d.sync += self.fetch.payload.octets.eq(self.i.payload.octets)
