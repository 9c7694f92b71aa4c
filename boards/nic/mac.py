"""A hard MAC, its bring-up, and its signs."""

from operator import index

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    Instance,
    Module,
    Mux,
    ResetSignal,
    Signal,
)
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.descriptor.settings import MacStatus
from mrcnic.hdl.packet.axi_stream import axi_stream_signature

from .ip import cmac_name

__all__ = ["BringUp", "HardMac", "MacModel", "Signs", "mac_members"]

_OCTETS = 64


def mac_members() -> dict:
    """Return the members of a MAC; the hard one and the model for simulation have the same.

    ``rx``, ``tx``: frames from and to the wire; nobody may make ``rx`` wait.
    ``status``, ``pause``: asynchronous; pauses are those that the other end asks for.
    ``loopback``: asynchronous; frames come back from the near end of the transceivers.
    """
    return {
        "rx": Out(axi_stream_signature(_OCTETS, user=True)),
        "tx": In(axi_stream_signature(_OCTETS)),
        "status": Out(MacStatus()),
        "pause": Out(9),
        "loopback": In(1),
    }


class BringUp(wiring.Component):
    """Say what the transmitter is to do while the receiver finds its lock.

    Until lanes are aligned, and whenever they no longer are, the other end is told (remote fault)
    and no frames are sent; that takes a cycle. This is the order of AMD's PG203.

    Members
    -------
    aligned : ``In(1)``
    enable, remote_fault : ``Out(1)``
        Send frames; send remote fault.
    """

    aligned: In(1)
    enable: Out(1)
    remote_fault: Out(1, init=1)

    def elaborate(self, platform):
        m = Module()

        m.d.sync += self.enable.eq(self.aligned)
        m.d.sync += self.remote_fault.eq(~self.aligned)

        return m


class Signs(wiring.Component):
    """Turn pulses of RS-FEC into levels that another clock can see.

    Symbols in error come many at a time, and are shown one in each cycle; what is over 255 waiting
    ones is not shown.

    Members
    -------
    symbols : ``In(5)``
        Symbols in error in this cycle.
    uncorrected : ``In(1)``
        A code word could not be corrected.
    symbol_errors : ``Out(4)``
        Count of symbols, in Gray code.
    uncorrected_seen : ``Out(1)``
        Changes with each such code word.
    """

    symbols: In(5)
    uncorrected: In(1)
    symbol_errors: Out(4)
    uncorrected_seen: Out(1)

    def elaborate(self, platform):
        m = Module()

        waiting = Signal(8)
        count = Signal(4)
        total = Signal(9)
        m.d.comb += total.eq(waiting + self.symbols)
        with m.If(total != 0):
            m.d.sync += count.eq(count + 1)
            m.d.sync += waiting.eq(Mux(total[-1], 255, total - 1))
        m.d.sync += self.symbol_errors.eq(count ^ (count >> 1))
        m.d.sync += self.uncorrected_seen.eq(self.uncorrected_seen ^ self.uncorrected)

        return m


class MacModel(wiring.Component):
    """The same members without a hard block: what is sent comes back.

    Members
    -------
    Those of :func:`mac_members`, and ``link : In(1)``: the cable is plugged in. Without it frames
    vanish, and signs say so.
    """

    def __init__(self):
        super().__init__({**mac_members(), "link": In(1)})

    def elaborate(self, platform):
        m = Module()

        up = self.link | self.loopback
        beat = Signal(4)
        m.d.sync += beat.eq(beat + 1)
        m.d.comb += self.status.heartbeat.eq(beat[-1])
        m.d.comb += self.status.aligned.eq(up)
        m.d.comb += self.status.fec_lock.eq(up)
        m.d.comb += self.status.local_fault.eq(~up)
        m.d.comb += self.status.block_lock.eq(~0)
        m.d.comb += self.tx.tready.eq(1)
        m.d.comb += self.rx.tvalid.eq(self.tx.tvalid & up)
        for name in ("tdata", "tkeep", "tlast"):
            m.d.comb += getattr(self.rx, name).eq(getattr(self.tx, name))

        return m


class HardMac(wiring.Component):
    """CMACE4 with its transceivers, as AMD's generator makes it.

    Clocked by itself: it drives ``sync``, which is to be renamed to a domain of its own; its
    receive side is brought to the same clock inside the core.

    Parameters
    ----------
    number : :class:`int`
        Number of the cage, of whose module this is an instance.
    pads : :class:`dict`
        IO values of the transceivers: ``rx_p``, ``rx_n``, ``tx_p``, ``tx_n``, ``refclk_p``,
        ``refclk_n``.
    init_clock : :class:`str`
        Domain of the free-running clock.

    Members
    -------
    Those of :func:`mac_members`.
    """

    def __init__(self, number: int, pads: dict, *, init_clock: str):
        self.number = index(number)
        self.pads = dict(pads)
        self.init_clock = init_clock
        super().__init__(mac_members())

    def elaborate(self, platform):
        m = Module()

        m.submodules.bring_up = bring_up = BringUp()
        m.submodules.signs = signs = Signs()
        loopback = Signal()
        m.submodules.loopback = FFSynchronizer(self.loopback, loopback, o_domain=self.init_clock)
        aligned, fec_aligned, fec_lock = Signal(), Signal(), Signal(4)
        symbols = [Signal(3, name=f"symbols_{lane}") for lane in range(4)]
        reset, rx_clock = Signal(), Signal()
        m.d.comb += bring_up.aligned.eq(aligned)
        m.d.comb += signs.symbols.eq(sum(symbols))
        m.d.comb += ResetSignal().eq(reset)
        status = self.status
        m.d.comb += status.fec_lock.eq(fec_lock.all() & fec_aligned)
        # RS-FEC hides the PCS lanes.
        m.d.comb += status.block_lock.eq(~0)
        m.d.comb += status.uncorrected.eq(signs.uncorrected_seen)
        m.d.comb += status.symbol_errors.eq(signs.symbol_errors)
        m.submodules.heart = _heart(rx_clock, status.heartbeat)
        m.submodules.mac = Instance(
            cmac_name(self.number),
            i_gt_rxp_in=self.pads["rx_p"],
            i_gt_rxn_in=self.pads["rx_n"],
            o_gt_txp_out=self.pads["tx_p"],
            o_gt_txn_out=self.pads["tx_n"],
            i_gt_ref_clk_p=self.pads["refclk_p"],
            i_gt_ref_clk_n=self.pads["refclk_n"],
            i_init_clk=ClockSignal(self.init_clock),
            i_sys_reset=ResetSignal(self.init_clock),
            i_drp_clk=ClockSignal(self.init_clock),
            o_gt_txusrclk2=ClockSignal(),
            o_gt_rxusrclk2=rx_clock,
            i_rx_clk=ClockSignal(),
            o_usr_tx_reset=reset,
            i_gt_loopback_in=Cat(Const(0, 1), loopback, Const(0, 1)).replicate(4),
            o_rx_axis_tvalid=self.rx.tvalid,
            o_rx_axis_tdata=self.rx.tdata,
            o_rx_axis_tkeep=self.rx.tkeep,
            o_rx_axis_tlast=self.rx.tlast,
            o_rx_axis_tuser=self.rx.tuser,
            o_tx_axis_tready=self.tx.tready,
            i_tx_axis_tvalid=self.tx.tvalid,
            i_tx_axis_tdata=self.tx.tdata,
            i_tx_axis_tkeep=self.tx.tkeep,
            i_tx_axis_tlast=self.tx.tlast,
            i_tx_axis_tuser=Const(0),
            i_ctl_tx_enable=bring_up.enable,
            i_ctl_tx_send_rfi=bring_up.remote_fault,
            i_ctl_tx_send_idle=Const(0),
            i_ctl_tx_send_lfi=Const(0),
            i_ctl_rx_enable=Const(1),
            i_ctl_tx_rsfec_enable=Const(1),
            i_ctl_rx_rsfec_enable=Const(1),
            i_ctl_rx_rsfec_enable_correction=Const(1),
            i_ctl_rx_rsfec_enable_indication=Const(1),
            i_ctl_rx_pause_enable=Const(0x1FF, 9),
            o_stat_rx_pause_req=self.pause,
            o_stat_rx_aligned=aligned,
            o_stat_rx_status=status.aligned,
            o_stat_rx_local_fault=status.local_fault,
            o_stat_rx_remote_fault=status.remote_fault,
            o_stat_rx_hi_ber=status.hi_ber,
            o_stat_rx_rsfec_lane_alignment_status=fec_aligned,
            **{f"o_stat_rx_rsfec_am_lock{n}": fec_lock[n] for n in range(4)},
            **{f"o_stat_rx_rsfec_err_count{n}_inc": symbols[n] for n in range(4)},
            o_stat_rx_rsfec_uncorrected_cw_inc=signs.uncorrected,
        )

        return m


def _heart(clock, beat):
    """Return a module in which ``beat`` changes every 8 cycles of ``clock``."""
    m = Module()
    m.domains.heart = ClockDomain(reset_less=True, local=True)
    count = Signal(4)
    m.d.comb += ClockSignal("heart").eq(clock)
    m.d.heart += count.eq(count + 1)
    m.d.comb += beat.eq(count[-1])
    return m
