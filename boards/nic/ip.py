"""Scripts that let Vivado make the hard blocks around the NIC, and constrain the crossings."""

from collections.abc import Sequence

from mrcnic.boards.parts import Cage, PCIe

__all__ = ["cmac_name", "cmac_script", "crossing_script", "pcie_script"]


def cmac_name(number: int) -> str:
    """Return the module of the MAC of a cage."""
    return f"cmac_{number}"


def cmac_script(cage: Cage, number: int, *, init_hz: int) -> str:
    """Return Tcl that makes the MAC of a cage: CAUI-4, RS-FEC, pause, transceivers inside.

    Names are those of AMD's PG203; the core needs a licence, which costs nothing.

    Parameters
    ----------
    cage : :class:`~mrcnic.boards.parts.Cage`
        The cage.
    number : :class:`int`
        Its number.
    init_hz : :class:`int`
        Free-running clock.
    """
    first, last = (site.removeprefix("X").split("Y") for site in cage.gt_group.split("~"))
    lanes = [f"X{first[0]}Y{y}" for y in range(int(first[1]), int(last[1]) + 1)]
    properties = {
        "CMAC_CAUI4_MODE": 1,
        "NUM_LANES": "4x25",
        "GT_REF_CLK_FREQ": f"{cage.refclk_hz / 1e6:.7f}".rstrip("0").rstrip("."),
        "USER_INTERFACE": "AXIS",
        "INCLUDE_RS_FEC": 1,
        "ENABLE_AXI_INTERFACE": 0,
        "INCLUDE_STATISTICS_COUNTERS": 0,
        "TX_FLOW_CONTROL": 0,
        "RX_FLOW_CONTROL": 1,
        "RX_MAX_PACKET_LEN": 9600,
        "GT_DRP_CLK": f"{init_hz / 1e6:g}",
        "CMAC_CORE_SELECT": cage.cmac,
        "GT_GROUP_SELECT": cage.gt_group,
        **{f"LANE{n + 1}_GT_LOC": lane for n, lane in enumerate(lanes)},
        **{f"LANE{n}_GT_LOC": "NA" for n in range(5, 11)},
    }
    return _ip("cmac_usplus", cmac_name(number), properties)


def pcie_script(pcie: PCIe, *, octets: int) -> str:
    """Return Tcl that makes the bridge between PCIe and AXI4, with two windows.

    BAR 0 is the register port. What the NIC asks of host memory goes through the bridge's own
    slave, address by address as it is.

    Parameters
    ----------
    pcie : :class:`~mrcnic.boards.parts.PCIe`
        The edge connector.
    octets : :class:`int`
        Width of the NIC's masters.
    """
    speed = {3: "8.0_GT/s", 4: "16.0_GT/s"}[pcie.generation]
    properties = {
        "functional_mode": "AXI_Bridge",
        "mode_selection": "Advanced",
        "pl_link_cap_max_link_width": f"X{pcie.lanes}",
        "pl_link_cap_max_link_speed": speed,
        "axi_data_width": f"{8 * octets}_bit",
        "axi_addr_width": 64,
        "axisten_freq": 250,
        "bar_indicator": "BAR_0",
        "pf0_bar0_scale": "Kilobytes",
        "pf0_bar0_size": 128,
        "pciebar2axibar_0": "0x0000000000000000",
        "axibar_num": 1,
        "axibar_0": "0x0000000000000000",
        "axibar_highaddr_0": "0xFFFFFFFFFFFFFFFF",
        "axibar2pciebar_0": "0x0000000000000000",
        "pf0_msix_enabled": "true",
        "xdma_num_usr_irq": 1,
    }
    return _ip("xdma", "pcie_bridge", properties)


def _ip(core: str, name: str, properties: dict) -> str:
    lines = [f"create_ip -vendor xilinx.com -library ip -name {core} -module_name {name}"]
    lines += [
        f"set_property CONFIG.{key} {{{value}}} [get_ips {name}]"
        for key, value in properties.items()
    ]
    lines += [
        f"generate_target all [get_ips {name}]",
        f"synth_ip [get_ips {name}]",
    ]
    return "\n".join(lines) + "\n"


def crossing_script(domains: Sequence[str], *, engine_ns: float, mac_ns: float) -> str:
    """Return Tcl, for after synthesis, that constrains all paths between the NIC's clocks.

    Counts cross in Gray code and data is still when it is read (``docs/architecture.md``), so that
    it is enough if a path between two clocks is no longer than the shorter of their periods. The
    first register behind a crossing and the next are kept together.

    Parameters
    ----------
    domains : sequence of :class:`str`
        Domains of the MACs, as the NIC names them.
    engine_ns, mac_ns : :class:`float`
        Periods.
    """
    limit = f"{min(engine_ns, mac_ns):.3f}"
    lines = ["set engine [get_clocks -of_objects [get_nets clk]]"]
    for domain in domains:
        lines += [
            f"set mac [get_clocks -of_objects [get_nets {domain}_clk]]",
            f"set_max_delay -datapath_only -from $engine -to $mac {limit}",
            f"set_max_delay -datapath_only -from $mac -to $engine {limit}",
        ]
    first = "{.*synchronizer.*/stage[01]_reg.*}"
    lines.append(f"set_property ASYNC_REG TRUE [get_cells -hierarchical -regexp {first}]")
    return "\n".join(lines) + "\n"
