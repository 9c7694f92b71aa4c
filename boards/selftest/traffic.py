"""Work requests without end, and what became of them."""

from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Completion
from mrcnic.hdl.descriptor.outwards import WorkRequest

from .setup import BASE, OCTETS, Setup

__all__ = ["MESSAGE_OCTETS", "Generator"]

#: Octets of each message.
MESSAGE_OCTETS = 4096


class Generator(wiring.Component):
    """Ask for one write after the other, from and to addresses that move through the region.

    A request is made in the cycle after ``go``, or after the last one has completed; so there is
    one message under way. A completion that is late, not in order or not good is a failure.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    setup : :class:`~.setup.Setup`
        How the NIC is set up.
    patience_bits : :class:`int`
        A completion is late after two to the power of this cycles.

    Members
    -------
    go : ``In(1)``
        The NIC is set up.
    work : ``Out(stream.Signature(WorkRequest(config)))``
    completions : ``In(stream.Signature(Completion(config)))``
    events : ``Out``
        ``completed``: a message has ended well; ``failed``: a completion was bad, or late.
    """

    def __init__(self, config: NicConfig, setup: Setup, *, patience_bits: int):
        self.config = config
        self.setup = setup
        self.patience_bits = index(patience_bits)
        super().__init__({
            "go": In(1),
            "work": Out(stream.Signature(WorkRequest(config))),
            "completions": In(stream.Signature(Completion(config))),
            "events": Out(data.StructLayout({"completed": 1, "failed": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        messages = OCTETS // MESSAGE_OCTETS
        identifier = Signal(32)
        place = Signal(range(messages))
        waited = Signal(self.patience_bits + 1)
        address = BASE + place * MESSAGE_OCTETS
        work = self.work.payload
        m.d.comb += work.qp.eq(self.setup.qp)
        m.d.comb += work.identifier.eq(identifier)
        m.d.comb += work.local_address.eq(address)
        m.d.comb += work.remote_address.eq(address)
        m.d.comb += work.rkey.eq(self.setup.rkey)
        m.d.comb += work.octets.eq(MESSAGE_OCTETS)
        m.d.comb += self.completions.ready.eq(1)

        done = self.completions.payload
        m.d.sync += self.events.eq(0)
        with m.FSM():
            with m.State("Wait"), m.If(self.go):
                m.next = "Ask"
            with m.State("Ask"):
                m.d.comb += self.work.valid.eq(1)
                with m.If(self.work.ready):
                    m.d.sync += waited.eq(0)
                    m.next = "Under way"
            with m.State("Under way"):
                late = waited[-1]
                m.d.sync += waited.eq(Mux(late, 0, waited + 1))
                m.d.sync += self.events.failed.eq(late)
                with m.If(self.completions.valid):
                    good = (done.status.as_value() == 0) & (done.identifier == identifier)
                    m.d.sync += self.events.completed.eq(good)
                    m.d.sync += self.events.failed.eq(~good)
                    m.d.sync += identifier.eq(identifier + 1)
                    m.d.sync += place.eq(place + 1)
                    m.next = "Ask"

        return m
