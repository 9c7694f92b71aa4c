"""A NIC that is a Verilog module of its own, beside the design that uses it."""

import gc
import warnings

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, UnusedElaboratable, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.ports import NicPorts

__all__ = ["MODULE", "NicInstance", "join_ports"]

#: Name of the module, which is in a file of its own.
MODULE = "mrcnic"


class NicInstance(wiring.Component):
    """Instance of the NIC, with the ports of :class:`~mrcnic.hdl.ports.NicPorts`.

    However many of them there are in a design, the NIC is generated once.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Attributes
    ----------
    mac_domains : :class:`tuple` of :class:`str`
        Clock domains besides ``sync``, which must be there.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        with warnings.catch_warnings():
            # It is made to be asked for its ports, and not to be elaborated.
            warnings.simplefilter("ignore", UnusedElaboratable)
            ports = NicPorts(config)
            members = dict(ports.signature.members)
            self.mac_domains = ports.mac_domains
            del ports
            gc.collect()
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()

        ports = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for domain in self.mac_domains:
            ports[f"i_{domain}_clk"] = ClockSignal(domain)
            ports[f"i_{domain}_rst"] = ResetSignal(domain)
        for name, member in self.signature.members.items():
            ports[f"{'i' if member.flow == In else 'o'}_{name}"] = getattr(self, name)
        m.submodules.nic = Instance(MODULE, **ports)

        return m


def join_ports(m, nic: NicInstance, prefix: str, interface):
    """Connect an interface with the ports of a NIC whose names are those of its members.

    Parameters
    ----------
    m : :class:`~amaranth.hdl.Module`
        Where they are.
    prefix : :class:`str`
        What the names of the ports start with, before an underscore.
    """
    for (name,), member, value in interface.signature.flatten(interface):
        port = getattr(nic, f"{prefix}_{name}")
        if member.flow == Out:
            m.d.comb += port.eq(value)
        else:
            m.d.comb += Value.cast(value).eq(port)
