"""Two NICs in one Verilog module: what simulations of a transfer run."""

from amaranth.hdl import Shape
from amaranth.lib import wiring

__all__ = ["SIDES", "pair_verilog"]

#: Names of the two NICs, and prefixes of their ports.
SIDES = ("a", "b")


def pair_verilog(component: wiring.Component, *, module: str, name: str = "pair") -> str:
    """Return Verilog of a module ``name`` with two instances of ``module``.

    The ports of the instances appear as ``a_<port>`` and ``b_<port>``; clock and reset are common.
    Only these ports are open to the test bench, so that Verilator may optimise all the rest.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
        The component that ``module`` was generated from; its members are flat.
    module : :class:`str`
        Name of the module to instantiate.
    """
    ports = {
        port: ("input" if member.flow == wiring.In else "output", Shape.cast(member.shape).width)
        for port, member in component.signature.members.items()
    }
    public = "/*verilator public_flat_rw*/"
    lines = [f"  input wire clk {public}", f"  input wire rst {public}"]
    lines += [
        f"  {direction} wire [{width - 1}:0] {side}_{port} {public}"
        for side in SIDES
        for port, (direction, width) in ports.items()
    ]
    header = ",\n".join(lines)
    instances = []
    for side in SIDES:
        pins = ",\n".join([
            "    .clk(clk)",
            "    .rst(rst)",
            *(f"    .{port}({side}_{port})" for port in ports),
        ])
        instances.append(f"  {module} {side} (\n{pins}\n  );")
    return f"module {name} (\n{header}\n);\n" + "\n".join(instances) + "\nendmodule\n"
