"""The NIC behind the port names of the ecosystem: AXI4-Stream, AXI4, AXI4-Lite."""

from amaranth.hdl import Module, Value
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

    Members
    -------
    clk, rst
        Clock of everything, and reset (synchronous, active high); not members, but ports.
    s_axis_rx<p>_tdata, tkeep, tvalid, tready, tlast, tuser
        Frames from the MAC of port p; ``tuser`` in the last beat: a bad frame. Always ready.
    m_axis_tx<p>_tdata, tkeep, tvalid, tready, tlast
        Frames to the MAC of port p.
    mac<p>_*
        Status pins of the MAC of port p (:class:`~mrcnic.hdl.descriptor.settings.MacStatus`).
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
            self._adapters[f"from_mac_{p}"] = rx = FromAxiStream(octets=config.beat_octets)
            self._adapters[f"to_mac_{p}"] = tx = ToAxiStream(octets=config.beat_octets)
            add_interface(f"s_axis_rx{p}", rx.i)
            add_interface(f"m_axis_tx{p}", tx.o)
            for name, _field in self.nic.mac_status[p].shape():
                add(f"mac{p}_{name}", In, self.nic.mac_status[p][name])
            add_interface(f"m_axi{p}", self.nic.memory_read[p])
            add_interface(f"m_axi{p}", self.nic.memory_write[p])
        add_stream("s_axis_wr", self.nic.work, into=True)
        add_stream("m_axis_cq", self.nic.completions, into=False)
        add_stream("m_axis_rq", self.nic.received, into=False)
        add_interface("s_axil", self.nic.registers)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()

        m.submodules.nic = self.nic
        m.submodules += self._adapters.values()
        for p in range(self.config.lanes):
            wiring.connect(m, self._adapters[f"from_mac_{p}"].o, self.nic.rx[p])
            wiring.connect(m, self.nic.tx[p], self._adapters[f"to_mac_{p}"].i)
        for name, value in self._wires.items():
            port = getattr(self, name)
            if self.signature.members[name].flow == In:
                m.d.comb += Value.cast(value).eq(port)
            else:
                m.d.comb += port.eq(value)

        return m
