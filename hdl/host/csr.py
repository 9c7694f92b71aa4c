"""The registers of a NIC."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.wire.opcodes import Role

from .axi import axi4_lite_signature
from .axi_lite import AxiLiteFront
from .counters import CounterBank
from .register_file import RegisterFile
from .registers import ADDRESS_BITS, COUNTERS, PORT_STATUS, SETTINGS, register_map
from .table_window import TableWindow

__all__ = ["PortStatus", "RegisterBank"]


class PortStatus(data.StructLayout):
    """Signs of a port, as :data:`~.registers.PORT_STATUS` describes them; one bit each."""

    def __init__(self):
        super().__init__(dict.fromkeys(PORT_STATUS, 1))


class RegisterBank(wiring.Component):
    """Let the host identify the NIC, set it up, write its tables and read its counters.

    The map is that of :func:`~.registers.register_map`, and ``docs/registers.md`` its reference. A
    read is answered 4 cycles after its address was taken, a write 2 cycles after its address and
    data. Settings change a word at a time, in the cycle after the write.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    event_names : sequence of :class:`str`
        Names of ``events``, from bit 0 up.

    Attributes
    ----------
    registers : :class:`tuple` of :class:`~.register.Register`
        The map.

    Members
    -------
    axil : ``In(axi4_lite_signature(14))``
        The host.
    settings : ``Out(Settings(config))``
        What was set.
    table : ``Out(stream.Signature(TableWrite()))``
        Rows that the host writes.
    events : ``In(len(event_names))``
        Each bit set counts one event.
    port_status : ``In(ArrayLayout(PortStatus(), lanes))``
        Signs of each port, now.
    now, occupied_slots : ``In(NOW_BITS)``, ``In(16)``
        What the registers of these names read.

    Raises
    ------
    ValueError
        If there are no event names, too many of them, or one is there twice.
    """

    def __init__(self, config: NicConfig, event_names: Sequence[str]):
        self.config = config
        self.event_names = tuple(event_names)
        if not self.event_names:
            raise ValueError("event_names must not be empty")
        self.registers = register_map(config, self.event_names)
        super().__init__({
            "axil": In(axi4_lite_signature(ADDRESS_BITS)),
            "settings": Out(Settings(config)),
            "table": Out(stream.Signature(TableWrite())),
            "events": In(len(self.event_names)),
            "port_status": In(data.ArrayLayout(PortStatus(), config.lanes)),
            "now": In(NOW_BITS),
            "occupied_slots": In(16),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.front = front = AxiLiteFront()
        m.submodules.counters = counters = CounterBank(count=len(self.event_names))
        m.submodules.file = file = RegisterFile(
            register for register in self.registers if register.address < COUNTERS
        )
        m.submodules.window = window = TableWindow(self.config)

        connect(m, flipped(self.axil), front.axil)
        for block in (file, counters):
            for name in ("read", "read_address", "write", "write_address", "write_data", "strobe"):
                m.d.comb += getattr(block.port, name).eq(getattr(front.port, name))
        m.d.comb += front.port.read_data.eq(file.port.read_data | counters.port.read_data)
        m.d.comb += counters.events.eq(self.events)

        # Sizes are what they are after reset, for ever.
        live = {"now": self.now, "occupied_slots": self.occupied_slots}
        for register in file.registers:
            if register.address < SETTINGS:
                m.d.comb += file.i[register.name].eq(live.get(register.name, register.reset))

        self._connect_settings(m, file.o)
        self._connect_tables(m, file, window)
        self._connect_ports(m, file)
        return m

    def _connect_settings(self, m, values):
        for name in self.settings.shape().members:
            if name == "dscp":
                for role in Role:
                    m.d.comb += self.settings.dscp[role].eq(values[f"dscp_{role.name.lower()}"])
            elif name == "port":
                for port in range(self.config.lanes):
                    settings = self.settings.port[port]
                    for member in settings.shape().members:
                        m.d.comb += settings[member].eq(values[f"port{port}_{member}"])
            else:
                m.d.comb += self.settings[name].eq(values[name])

    def _connect_tables(self, m, file, window):
        m.d.comb += window.select.eq(file.o.table_select)
        m.d.comb += window.row_index.eq(file.o.table_index)
        m.d.comb += window.row_data.eq(file.o.table_data)
        m.d.comb += window.write.eq(file.o.table_control)
        m.d.comb += file.i.table_control.eq(window.busy)
        m.d.comb += file.i.table_status.eq(Cat(window.busy, window.done, window.refused))
        m.d.comb += file.i.table_row.eq(window.row)
        connect(m, window.table, flipped(self.table))

    def _connect_ports(self, m, file):
        for port in range(self.config.lanes):
            status = self.port_status[port].as_value()
            before = Signal.like(status, name=f"status_{port}")
            now = Signal.like(status, name=f"status_now_{port}")
            m.d.sync += now.eq(status)
            m.d.sync += before.eq(now)
            m.d.comb += file.i[f"port{port}_status"].eq(now)
            m.d.comb += file.i[f"port{port}_status_rose"].eq(now & ~before)
            m.d.comb += file.i[f"port{port}_status_fell"].eq(~now & before)
