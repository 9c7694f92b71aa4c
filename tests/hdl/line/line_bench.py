"""A MAC and a lane on both sides of a line edge, in Amaranth's simulator."""

from amaranth.hdl import ClockDomain, Module

from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import to_beats

#: Periods of the clocks of a 100 Gb/s MAC and of the engine, in nanoseconds.
MAC = 1e3 / 322.265625
ENGINE = 4.0

#: Octets that a frame takes on the line besides those a MAC hands over: frame check sequence,
#: preamble, gap.
OVERHEAD = 4 + 8 + 12


class LineBench:
    """A component between ``sync`` and the domain ``mac``, whose resets can be set."""

    def __init__(self, dut, *, mac):
        self.dut = dut
        self.mac = ClockDomain(mac)
        self.sync = ClockDomain("sync")
        self.m = Module()
        self.m.domains += self.mac, self.sync
        self.m.submodules.dut = dut

    def clocks(self, *, mac=MAC, engine=ENGINE, phase=0.37):
        return {
            self.mac.name: (mac * 1e-9, mac * 1e-9 * phase),
            "sync": (engine * 1e-9, engine * 0.5e-9),
        }


def frame(octets, seed=0):
    """Make a frame of so many octets, different for each seed."""
    return (seed.to_bytes(4, "big") * -(-octets // 4))[:octets]


def line_beats(octets, packet, *, bad=None):
    """Cut ``packet`` into beats, as integers.

    With ``bad`` there is ``user``, which has that value in the last beat.
    """
    if bad is None:
        return [beat.as_bits() for beat in to_beats(packet, Beat(octets))]
    beats = to_beats(packet, Beat(octets, user_shape=1), user=0)
    last = to_beats(packet, Beat(octets, user_shape=1), user=bad)[-1]
    return [beat.as_bits() for beat in (*beats[:-1], last)]


async def idle(ctx, domain, cycles):
    for _ in range(cycles):
        await ctx.tick(domain)


async def reset(ctx, domain, cycles):
    ctx.set(domain.rst, 1)
    await idle(ctx, domain.name, cycles)
    ctx.set(domain.rst, 0)
