"""Two NICs in one Verilog module: what simulations of a transfer run."""

from amaranth.hdl import Shape
from amaranth.lib import wiring

from mrcnic.hdl.ports import NicPorts

__all__ = ["SIDES", "pair_verilog"]

#: Names of the two NICs, and prefixes of their ports.
SIDES = ("a", "b")


def pair_verilog(component: NicPorts, *, module: str, name: str = "pair") -> str:
    """Return Verilog of a module ``name`` with two instances of ``module``.

    The ports of the instances appear as ``a_<port>`` and ``b_<port>``; clock and reset are common,
    and so are those of all MACs, ``mac_clk`` and ``mac_rst``, if MACs have clocks of their own.
    Only these ports are open to the test bench, so that Verilator may optimise all the rest.

    Parameters
    ----------
    component : :class:`~mrcnic.hdl.ports.NicPorts`
        The component that ``module`` was generated from.
    module : :class:`str`
        Name of the module to instantiate.
    """
    ports = {
        port: ("input" if member.flow == wiring.In else "output", Shape.cast(member.shape).width)
        for port, member in component.signature.members.items()
    }
    public = "/*verilator public_flat_rw*/"
    clocks = {"clk": "clk", "rst": "rst"}
    for domain in component.mac_domains:
        clocks |= {f"{domain}_clk": "mac_clk", f"{domain}_rst": "mac_rst"}
    lines = [f"  input wire {name} {public}" for name in dict.fromkeys(clocks.values())]
    lines += [
        f"  {direction} wire [{width - 1}:0] {side}_{port} {public}"
        for side in SIDES
        for port, (direction, width) in ports.items()
    ]
    header = ",\n".join(lines)
    instances = []
    for side in SIDES:
        pins = ",\n".join([
            *(f"    .{port}({wire})" for port, wire in clocks.items()),
            *(f"    .{port}({side}_{port})" for port in ports),
        ])
        instances.append(f"  {module} {side} (\n{pins}\n  );")
    return f"module {name} (\n{header}\n);\n" + "\n".join(instances) + "\nendmodule\n"
