"""The NIC on a board: a hard MAC for each cage, host memory and registers over PCIe."""

from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Const,
    DomainRenamer,
    Elaboratable,
    Instance,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import io
from amaranth.lib.wiring import In, Out

from mrcnic.boards.clock import BoardClock
from mrcnic.boards.nic_instance import NicInstance, join_ports
from mrcnic.hdl.config import NicConfig

from .axi_join import AxiJoin
from .ip import cmac_script, crossing_script, pcie_script
from .mac import HardMac
from .register_bridge import RegisterBridge

__all__ = ["BoardNic"]

#: Clock of a MAC's user side: 25.78125 Gb/s of a lane, 80 bits at a time.
_MAC_NS = 80 / 25.78125


class BoardNic(Elaboratable):
    """NIC with MACs and PCIe. Its own clock is that of the PCIe bridge, 250 MHz.

    The domain ``board`` is the board's oscillator, with which transceivers start.

    Parameters
    ----------
    platform
        Platform of an UltraScale+ board.
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes: as many lanes as cages at most, and ``crossing``.

    Raises
    ------
    ValueError
        If the NIC's MACs are not in clocks of their own.
    """

    def __init__(self, platform, config: NicConfig):
        if not config.crossing:
            raise ValueError("crossing must be 1 where MACs are hard, not 0")
        self.config = config
        self._clock = BoardClock(platform)
        bare = {"rx": "-", "tx": "-"}
        self._cages = []
        self._management = []
        for n in range(config.lanes):
            names = [sub.name for sub in platform.lookup("qsfp", n).ios]
            cage = platform.request("qsfp", n, dir=dict.fromkeys(names, "-"))
            self._management.append({
                name: getattr(cage, name) for name in names if name not in bare
            })
            refclk = platform.request("qsfp_refclk", n, dir="-")
            self._cages.append({
                "rx_p": cage.rx.p, "rx_n": cage.rx.n, "tx_p": cage.tx.p, "tx_n": cage.tx.n,
                "refclk_p": refclk.p, "refclk_n": refclk.n,
            })  # fmt: skip
        self._pcie = platform.request("pcie", 0, dir={"reset": "-", **bare})
        self._pcie_refclk = platform.request("pcie_refclk", platform.pcie.refclk, dir="-")
        self._cattrip = None
        if ("hbm_cattrip", 0) in platform.resources:
            self._cattrip = platform.request("hbm_cattrip", 0, dir="-")
        self._add_scripts(platform)

    def _add_scripts(self, platform):
        domains = [f"{side}{p}" for p in range(self.config.lanes) for side in ("rx", "tx")]
        for n, cage in enumerate(platform.cages[: self.config.lanes]):
            platform.add_ip(f"cmac_{n}.tcl", cmac_script(cage, n, init_hz=platform.fabric_hz))
        platform.add_ip("pcie.tcl", pcie_script(platform.pcie, octets=self.config.beat_octets))
        platform.add_after_synthesis(
            "crossings.tcl", crossing_script(domains, engine_ns=4, mac_ns=_MAC_NS)
        )

    def elaborate(self, platform):
        m = Module()

        m.domains.sync = ClockDomain()
        m.domains.board = ClockDomain()
        m.submodules.clock = DomainRenamer("board")(self._clock)
        nic = NicInstance(self.config)
        m.submodules.nic = nic
        for domain in nic.mac_domains:
            m.domains += ClockDomain(domain)
        for n in range(self.config.lanes):
            self._add_mac(m, nic, n)
        self._add_host(m, nic)
        for name, member in nic.signature.members.items():
            # What nobody listens to here must not stand in the way.
            to_mac = name.startswith("m_axis_tx")
            if name.startswith("m_axis_") and member.flow == In and not to_mac:
                m.d.comb += getattr(nic, name).eq(1)
        if self._cattrip is not None:
            m.submodules.cattrip = cattrip = io.Buffer("o", self._cattrip)
            m.d.comb += cattrip.o.eq(0)

        return m

    def _add_mac(self, m, nic, n):
        mac = HardMac(n, self._cages[n], init_clock="board")
        m.submodules[f"mac_{n}"] = DomainRenamer(f"tx{n}")(mac)
        m.d.comb += ClockSignal(f"rx{n}").eq(ClockSignal(f"tx{n}"))
        for name in ("tdata", "tkeep", "tvalid", "tlast", "tuser"):
            m.d.comb += getattr(nic, f"s_axis_rx{n}_{name}").eq(getattr(mac.rx, name))
        for name in ("tdata", "tkeep", "tvalid", "tlast"):
            m.d.comb += getattr(mac.tx, name).eq(getattr(nic, f"m_axis_tx{n}_{name}"))
        m.d.comb += getattr(nic, f"m_axis_tx{n}_tready").eq(mac.tx.tready)
        for name, _ in mac.status.shape():
            m.d.comb += getattr(nic, f"mac{n}_{name}").eq(mac.status[name])
        m.d.comb += getattr(nic, f"mac{n}_pause").eq(mac.pause)
        self._manage(m, n)

    def _manage(self, m, n):
        """Let the module in a cage run: selected, out of reset, in high power."""
        for name, port in self._management[n].items():
            if name in ("modsel", "reset", "lpmode"):
                m.submodules[f"qsfp_{n}_{name}"] = buffer = io.Buffer("o", port)
                m.d.comb += buffer.o.eq(name == "modsel")

    def _add_host(self, m, nic):
        octets = self.config.beat_octets
        m.submodules.join = join = AxiJoin(lanes=self.config.lanes, octets=octets)
        m.submodules.registers = registers = RegisterBridge(octets=octets)
        for n in range(self.config.lanes):
            join_ports(m, nic, f"m_axi{n}", join.read[n])
            join_ports(m, nic, f"m_axi{n}", join.write[n])
        join_ports(m, nic, "s_axil", registers.axil)

        m.submodules.reset_pin = reset = io.Buffer("i", self._pcie.reset)
        full, half = Signal(), Signal()
        m.submodules.refclk = Instance(
            "IBUFDS_GTE4",
            p_REFCLK_HROW_CK_SEL=0,
            i_I=self._pcie_refclk.p,
            i_IB=self._pcie_refclk.n,
            i_CEB=Const(0),
            o_O=full,
            o_ODIV2=half,
        )
        ports = {
            "i_sys_clk": half, "i_sys_clk_gt": full, "i_sys_rst_n": ~reset.i,
            "i_pci_exp_rxp": self._pcie.rx.p, "i_pci_exp_rxn": self._pcie.rx.n,
            "o_pci_exp_txp": self._pcie.tx.p, "o_pci_exp_txn": self._pcie.tx.n,
            "o_axi_aclk": ClockSignal(), "i_usr_irq_req": nic.m_axis_cq_tvalid,
        }  # fmt: skip
        running = Signal()
        ports["o_axi_aresetn"] = running
        m.d.comb += ResetSignal().eq(~running)
        for bus, prefix in (
            (join.read_bus, "s_axib"), (join.write_bus, "s_axib"),
            (registers.read, "m_axib"), (registers.write, "m_axib"),
        ):  # fmt: skip
            for (name,), member, value in bus.signature.flatten(bus):
                wide = prefix == "s_axib" and name in ("arid", "awid", "rid", "bid")
                port = getattr(join, name) if wide else Value.cast(value)
                # What goes out of here goes into the bridge.
                ports[f"{'i' if member.flow == Out else 'o'}_{prefix}_{name}"] = port
        m.submodules.bridge = Instance("pcie_bridge", **ports)
