"""NICs that talk to each other through switches on the same chip."""

from operator import index

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.boards.nic_instance import NicInstance, join_ports
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.axi_stream import FromAxiStream

from .fabric import SPINES, FabricPath
from .pattern import OCTETS, PatternSink, PatternSource
from .sequencer import Sequencer
from .setup import nic_mac, setup_of, switch_mac
from .traffic import MESSAGE_OCTETS, Generator

__all__ = ["COUNTED", "Selftest"]

#: What is counted for each NIC: messages that ended well, completions that were bad or late, octets
#: that arrived right, words that did not; frames on the way to it that got through, that were lost
#: by chance, that died in a dead T1, and that no switch knew.
COUNTED = ("msgs", "fails", "octets", "wrong", "fwd", "lost", "dead", "stray")

#: Messages of each NIC until the test counts as passed.
_ENOUGH = 16

#: Cycles between changes of the MACs' heartbeat.
_HEARTBEAT = 16

#: Cycles from the last octet of a message to where it has been counted, and more.
_LAG = 16


class Selftest(wiring.Component):
    """One NIC or two, the switches between them, generators of traffic, checkers.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes: one lane of 8 octets.
    nics : :class:`int`
        2, or 1: then it talks to itself.
    patience_bits : :class:`int`
        A completion is late after two to the power of this cycles.

    Members
    -------
    dead : ``In(SPINES)``
        Which T1 switches are dead.
    loss : ``In(16)``
        Frames that get lost by chance, of 65536.
    ready : ``Out(nics)``
        NICs that are set up.
    good : ``Out(1)``
        Each NIC has had enough messages, and nothing went wrong.
    bad : ``Out(1)``
        Something went wrong, since reset.
    counters : ``Out(32).array(nics * len(COUNTED))``
        What :data:`COUNTED` names, for each NIC.

    Raises
    ------
    ValueError
        If ``nics`` or ``config`` is out of its limits.
    """

    def __init__(self, config: NicConfig, *, nics: int = 2, patience_bits: int = 26):
        self.config = config
        self.nics = index(nics)
        self.patience_bits = index(patience_bits)
        if self.nics not in (1, 2):
            raise ValueError(f"nics must be 1 or 2, not {nics}")
        if (config.lanes, config.beat_octets, config.crossing) != (1, OCTETS, 0):
            raise ValueError(f"config must have one lane of {OCTETS} octets without crossing")
        super().__init__({
            "dead": In(SPINES),
            "loss": In(16),
            "ready": Out(self.nics),
            "good": Out(1),
            "bad": Out(1),
            "counters": Out(32).array(self.nics * len(COUNTED)),
        })

    def elaborate(self, platform):
        m = Module()

        nics = [NicInstance(self.config) for _ in range(self.nics)]
        for number, nic in enumerate(nics):
            m.submodules[f"nic_{number}"] = nic
            self._connect_mac(m, nic)
            self._drain(m, nic)
        ends = [self._add_end(m, number, nics) for number in range(self.nics)]
        for number, end in enumerate(ends):
            sender = ends[self.nics - 1 - number]
            missing = self._missing(m, sender["msgs"], end["octets"])
            with m.If(end["failed"] | missing):
                m.d.sync += self.bad.eq(1)
            for n, name in enumerate(COUNTED):
                m.d.comb += self.counters[number * len(COUNTED) + n].eq(end[name])
        enough = [end["msgs"] >= _ENOUGH for end in ends]
        m.d.sync += self.good.eq(Cat(enough).all() & ~self.bad)

        return m

    def _drain(self, m, nic):
        """Take what nobody here listens to, so that it does not stand in the way."""
        for name, member in nic.signature.members.items():
            listened = name in ("m_axis_tx0_tready", "m_axis_cq_tready")
            if name.startswith("m_axis_") and member.flow == In and not listened:
                m.d.comb += getattr(nic, name).eq(1)

    def _connect_mac(self, m, nic):
        beat = Signal(range(_HEARTBEAT))
        heartbeat = Signal()
        m.d.sync += beat.eq(beat + 1)
        with m.If(beat == 0):
            m.d.sync += heartbeat.eq(~heartbeat)
        m.d.comb += nic.mac0_heartbeat.eq(heartbeat)
        m.d.comb += nic.mac0_aligned.eq(1)
        m.d.comb += nic.mac0_fec_lock.eq(1)
        m.d.comb += nic.mac0_block_lock.eq(~0)

    def _add_end(self, m, number, nics):
        """Add what belongs to a NIC; return its counters, and whether something ``failed``."""
        nic, peer = nics[number], self.nics - 1 - number
        setup = setup_of(self.config, number=number, peer=peer)
        m.submodules[f"sequencer_{number}"] = sequencer = Sequencer(setup.steps)
        m.submodules[f"generator_{number}"] = generator = Generator(
            self.config, setup, patience_bits=self.patience_bits
        )
        m.submodules[f"source_{number}"] = source = PatternSource()
        m.submodules[f"sink_{number}"] = sink = PatternSink()
        path = self._add_path(m, number, nic, nics[peer])
        join_ports(m, nic, "s_axil", sequencer.axil)
        join_ports(m, nic, "m_axi0", source.axi)
        join_ports(m, nic, "m_axi0", sink.axi)
        m.d.comb += self.ready[number].eq(sequencer.done)
        m.d.comb += generator.go.eq(self.ready.all())

        m.d.comb += nic.s_axis_wr_tdata.eq(generator.work.payload)
        m.d.comb += nic.s_axis_wr_tvalid.eq(generator.work.valid)
        m.d.comb += generator.work.ready.eq(nic.s_axis_wr_tready)
        m.d.comb += generator.completions.payload.eq(nic.m_axis_cq_tdata)
        m.d.comb += generator.completions.valid.eq(nic.m_axis_cq_tvalid)
        m.d.comb += nic.m_axis_cq_tready.eq(generator.completions.ready)

        happened = {
            "msgs": generator.events.completed,
            "fails": generator.events.failed,
            "octets": sink.octets,
            "wrong": sink.wrong,
            "fwd": path.events.forwarded,
            "lost": path.events.lost,
            "dead": path.events.killed,
            "stray": path.events.strays,
        }
        counts = {name: Signal(32, name=f"{name}_{number}") for name in happened}
        for name, count in counts.items():
            m.d.sync += count.eq(count + happened[name])
        failed = generator.events.failed | sink.wrong | path.events.strays
        return {**counts, "failed": failed}

    def _add_path(self, m, number, nic, sender):
        """Add the way to a NIC, from the one that sends to it."""
        m.submodules[f"path_{number}"] = path = FabricPath(
            destination=nic_mac(number), source=switch_mac(number), seed=0xACE1 + number
        )
        m.submodules[f"marker_{number}"] = marker = FromAxiStream(octets=OCTETS)
        for name in ("tdata", "tkeep", "tvalid", "tlast"):
            m.d.comb += getattr(marker.i, name).eq(getattr(sender, f"m_axis_tx0_{name}"))
        m.d.comb += sender.m_axis_tx0_tready.eq(marker.i.tready)
        for name in ("data", "keep", "first", "last"):
            m.d.comb += path.i.payload[name].eq(marker.o.payload[name])
        m.d.comb += path.i.valid.eq(marker.o.valid)
        m.d.comb += marker.o.ready.eq(path.i.ready)

        m.d.comb += nic.s_axis_rx0_tdata.eq(path.o.payload.data)
        m.d.comb += nic.s_axis_rx0_tkeep.eq(path.o.payload.keep)
        m.d.comb += nic.s_axis_rx0_tlast.eq(path.o.payload.last)
        m.d.comb += nic.s_axis_rx0_tvalid.eq(path.o.valid)
        m.d.comb += path.o.ready.eq(nic.s_axis_rx0_tready)
        m.d.comb += path.dead.eq(self.dead)
        m.d.comb += path.loss.eq(self.loss)
        return path

    def _missing(self, m, messages, octets):
        """Return a signal: messages have ended whose octets have not arrived."""
        seen = Signal(32)
        lag = Signal(range(_LAG))
        m.d.sync += lag.eq(lag - 1)
        with m.If(messages == seen):
            m.d.sync += lag.eq(_LAG - 1)
        with m.Elif(lag == 0):
            m.d.sync += seen.eq(messages)
        # Both wrap; which one is ahead is in the highest bit of the difference.
        ahead = Signal(32)
        m.d.sync += ahead.eq(octets - seen * MESSAGE_OCTETS)
        return ahead[-1]
