"""What is done with endpoint packets that come in."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits

from .links import (
    Confirmation,
    EndpointSend,
    FoundEndpoint,
    Operation,
    ProbeEcho,
    StatusNotice,
)

__all__ = ["EndpointDesk"]

_EVENTS = ("endpoint_request", "endpoint_response", "endpoint_stranger", "endpoint_unknown")


class EndpointDesk(wiring.Component):
    """Answer requests, and pass on what they and the responses say.

    Every request of a known remote NIC is answered, with its identifier and time stamp, by the
    port that it came in by if that is up, otherwise by another. So an answer that was lost comes
    again with the request. A probe of the NIC itself is its own answer. What comes from strangers,
    or asks for what nobody knows, is dropped and counted. One packet passes per cycle, if nothing
    waits.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(FoundEndpoint(config)))``
        Packets.
    replies : ``Out(stream.Signature(EndpointSend(config)))``
        Responses to be sent.
    notices : ``Out(stream.Signature(StatusNotice(config)))``
        Port status of remote NICs.
    confirmations : ``Out(stream.Signature(Confirmation(config)))``
        Responses to our port status.
    own_echo, echo : ``Out(ProbeEcho(config))``
        Own probes that came back; answers of remote NICs to probes.
    port_up : ``In(lanes)``
        Ports that are up.
    events : ``Out``
        ``endpoint_request`` and ``endpoint_response`` of known NICs, ``endpoint_stranger``,
        ``endpoint_unknown``.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(FoundEndpoint(config))),
            "replies": Out(stream.Signature(EndpointSend(config))),
            "notices": Out(stream.Signature(StatusNotice(config))),
            "confirmations": Out(stream.Signature(Confirmation(config))),
            "own_echo": Out(ProbeEcho(config)),
            "echo": Out(ProbeEcho(config)),
            "port_up": In(config.lanes),
            "events": Out(data.StructLayout(dict.fromkeys(_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        found, endpoint = self.i.payload, self.i.payload.endpoint
        outputs = (self.replies, self.notices, self.confirmations)
        waits, taken = Signal(), Signal()
        m.d.comb += waits.eq(Cat(output.valid & ~output.ready for output in outputs).any())
        for output in outputs:
            with m.If(output.ready):
                m.d.sync += output.valid.eq(0)
        m.d.comb += [self.i.ready.eq(~waits), taken.eq(self.i.valid & ~waits)]

        is_status = endpoint.operation == Operation.PORT_STATUS.value
        is_probe = endpoint.operation == Operation.PROBE.value
        request = taken & found.known & ~endpoint.response & (is_status | is_probe)
        response = taken & found.known & endpoint.response & (is_status | is_probe)
        own = taken & found.own & ~endpoint.response & is_probe
        m.d.comb += [
            self.events.endpoint_request.eq(request),
            self.events.endpoint_response.eq(response),
            self.events.endpoint_stranger.eq(taken & ~found.known & ~found.own),
            self.events.endpoint_unknown.eq(
                taken & (found.known | found.own) & ~request & ~response & ~own
            ),
        ]

        reply, notice = self.replies.payload, self.notices.payload
        with m.If(request):
            m.d.sync += [
                self.replies.valid.eq(1),
                reply.peer.eq(found.peer),
                reply.plane.eq(self._plane(m, endpoint.lane)),
                reply.response.eq(1),
                reply.operation.eq(Mux(is_probe, Operation.PROBE, Operation.PORT_STATUS)),
                reply.identifier.eq(endpoint.identifier),
                reply.tx_timestamp.eq(endpoint.tx_timestamp),
                self.notices.valid.eq(is_status),
                notice.peer.eq(found.peer),
                notice.identifier.eq(endpoint.identifier),
                notice.mask.eq(endpoint.port_status_mask),
            ]
        with m.If(response & is_status):
            m.d.sync += [
                self.confirmations.valid.eq(1),
                self.confirmations.payload.peer.eq(found.peer),
                self.confirmations.payload.identifier.eq(endpoint.identifier),
            ]
        for echo, valid in ((self.own_echo, own), (self.echo, response & is_probe)):
            m.d.sync += [
                echo.valid.eq(valid),
                echo.lane.eq(endpoint.lane),
                echo.peer.eq(found.peer),
                echo.identifier.eq(endpoint.identifier),
                echo.tx_timestamp.eq(endpoint.tx_timestamp),
                echo.marked.eq(endpoint.ce),
            ]

        return m

    def _plane(self, m, lane):
        """Return the port for an answer to what came in by ``lane``."""
        plane = Signal(index_bits(self.config.lanes))
        m.d.comb += plane.eq(lane)
        with m.If((self.port_up & (1 << lane)) == 0):
            for p in reversed(range(self.config.lanes)):
                with m.If(self.port_up[p]):
                    m.d.comb += plane.eq(p)
        return plane
