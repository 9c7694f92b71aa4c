"""The NIC behind the port names of the ecosystem: AXI4-Stream, AXI4, AXI4-Lite."""

from amaranth.hdl import DomainRenamer, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.nic import Nic
from mrcnic.hdl.packet.axi_stream import FromAxiStream, ToAxiStream

__all__ = ["NicPorts"]


class NicPorts(wiring.Component):
    """A :class:`~mrcnic.hdl.nic.Nic` with flat ports, to be used from Verilog.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Attributes
    ----------
    mac_domains : :class:`tuple` of :class:`str`
        Clock domains of the MACs, if they have their own: each has ports ``<domain>_clk`` and
        ``<domain>_rst``.

    Members
    -------
    clk, rst
        Clock of everything, and reset (synchronous, active high); not members, but ports.
    rx<p>_clk, rx<p>_rst, tx<p>_clk, tx<p>_rst
        With ``config.crossing``: clocks of ``s_axis_rx<p>`` and of ``m_axis_tx<p>``, with resets;
        ports too.
    s_axis_rx<p>_tdata, tkeep, tvalid, tready, tlast, tuser
        Frames from the MAC of port p; ``tuser`` in the last beat: a bad frame. Always ready.
    m_axis_tx<p>_tdata, tkeep, tvalid, tready, tlast
        Frames to the MAC of port p.
    mac<p>_*
        Status pins of the MAC of port p (:class:`~mrcnic.hdl.descriptor.settings.MacStatus`).
    mac<p>_pause
        Pauses that the MAC of port p asks for, as levels: of the eight priorities, then of all
        frames.
    m_axis_host<p>_tdata, tkeep, tvalid, tready, tlast
        Frames of port p that are not for the transport, as they came.
    s_axis_host<p>_tdata, tkeep, tvalid, tready, tlast, tuser
        The host's own frames for port p; ``tuser`` is of no use.
    s_axis_evo_tdata, tvalid, tready
        EVs to be taken out of use, or given back
        (:class:`~mrcnic.hdl.descriptor.outcome.EvEvent`).
    m_axis_evn_tdata, tvalid, tready
        Changes of EVs' states (:class:`~mrcnic.hdl.descriptor.paths.EvNews`).
    s_axis_evq_tdata, tvalid, tready
        Questions for the state of an EV (:class:`~mrcnic.hdl.descriptor.paths.EvQuery`).
    m_axis_eva_tdata, tvalid, tready
        Answers to them (:class:`~mrcnic.hdl.descriptor.paths.EvAnswer`).
    s_axis_epr_tdata, tvalid, tready
        Paths to be probed (:class:`~mrcnic.hdl.descriptor.outwards.EvProbeRequest`).
    m_axis_epa_tdata, tvalid, tready
        What came of it (:class:`~mrcnic.hdl.descriptor.outcome.EvProbeResult`).
    s_axis_wr_tdata, tvalid, tready
        Work requests (:class:`~mrcnic.hdl.descriptor.outwards.WorkRequest`, first field lowest).
    m_axis_cq_tdata, tvalid, tready
        Completions (:class:`~mrcnic.hdl.descriptor.outcome.Completion`).
    m_axis_rq_tdata, tvalid, tready
        Immediates received (:class:`~mrcnic.hdl.descriptor.inwards.ReceiveCompletion`).
    m_axi<p>_*
        AXI4 master of lane p, to host memory.
    s_axil_*
        AXI4-Lite registers.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.nic = Nic(config)
        # Flat name of each port, and the part of the inside that it stands for: a wire of the NIC,
        # or one of an adapter to AXI4-Stream.
        self._wires: dict[str, Value] = {}
        members = {}
        self._adapters = {}
        self._domains = {}  # of those adapters that are not in the clock of everything else

        def add(name, flow, value):
            members[name] = flow(Value.cast(value).shape())
            self._wires[name] = value

        def add_interface(prefix, interface):
            for path, member, value in interface.signature.flatten(interface):
                add("_".join((prefix, *map(str, path))), member.flow, value)

        def add_stream(prefix, port, *, into):
            add(f"{prefix}_tdata", In if into else Out, port.payload)
            add(f"{prefix}_tvalid", In if into else Out, port.valid)
            add(f"{prefix}_tready", Out if into else In, port.ready)

        for p in range(config.lanes):
            octets = config.beat_octets
            crossing = bool(config.crossing)
            self._adapters[f"from_mac_{p}"] = rx = FromAxiStream(
                octets=octets, outlasts_reset=crossing
            )
            self._adapters[f"to_mac_{p}"] = tx = ToAxiStream(octets=octets)
            self._adapters[f"from_host_{p}"] = host_tx = FromAxiStream(octets=octets)
            self._adapters[f"to_host_{p}"] = host_rx = ToAxiStream(octets=octets)
            if crossing:
                self._domains |= {f"from_mac_{p}": f"rx{p}", f"to_mac_{p}": f"tx{p}"}
            add_interface(f"s_axis_rx{p}", rx.i)
            add_interface(f"m_axis_tx{p}", tx.o)
            add_interface(f"s_axis_host{p}", host_tx.i)
            add_interface(f"m_axis_host{p}", host_rx.o)
            add(f"mac{p}_pause", In, self.nic.pause[p])
            for name, _field in self.nic.mac_status[p].shape():
                add(f"mac{p}_{name}", In, self.nic.mac_status[p][name])
            add_interface(f"m_axi{p}", self.nic.memory_read[p])
            add_interface(f"m_axi{p}", self.nic.memory_write[p])
        self.mac_domains = tuple(self._domains.values())
        add_stream("s_axis_wr", self.nic.work, into=True)
        add_stream("m_axis_cq", self.nic.completions, into=False)
        add_stream("m_axis_rq", self.nic.received, into=False)
        add_stream("s_axis_evo", self.nic.ev_orders, into=True)
        add_stream("m_axis_evn", self.nic.ev_news, into=False)
        add_stream("s_axis_evq", self.nic.ev_query, into=True)
        add_stream("m_axis_eva", self.nic.ev_answer, into=False)
        add_stream("s_axis_epr", self.nic.probe_request, into=True)
        add_stream("m_axis_epa", self.nic.probe_result, into=False)
        add_interface("s_axil", self.nic.registers)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()

        m.submodules.nic = self.nic
        for name, adapter in self._adapters.items():
            m.submodules[name] = DomainRenamer(self._domains.get(name, "sync"))(adapter)
        for p in range(self.config.lanes):
            wiring.connect(m, self._adapters[f"from_mac_{p}"].o, self.nic.rx[p])
            wiring.connect(m, self.nic.tx[p], self._adapters[f"to_mac_{p}"].i)
            from_host = self._adapters[f"from_host_{p}"].o
            m.d.comb += [
                self.nic.host_tx[p].valid.eq(from_host.valid),
                from_host.ready.eq(self.nic.host_tx[p].ready),
            ]
            for name in ("data", "keep", "first", "last"):
                m.d.comb += self.nic.host_tx[p].payload[name].eq(from_host.payload[name])
            wiring.connect(m, self.nic.host_rx[p], self._adapters[f"to_host_{p}"].i)
        for name, value in self._wires.items():
            port = getattr(self, name)
            if self.signature.members[name].flow == In:
                m.d.comb += Value.cast(value).eq(port)
            else:
                m.d.comb += port.eq(value)

        return m
