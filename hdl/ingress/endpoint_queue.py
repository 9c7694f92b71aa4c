"""Endpoint requests and responses that wait for the engine."""

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxEndpoint
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.opcodes import Opcode

from .frame import HeaderFields

__all__ = ["ENDPOINTS", "EndpointQueue"]

#: Endpoint packets that wait: a peer sends one when a port of its changes, or to probe a path.
ENDPOINTS = 16


class EndpointQueue(wiring.Component):
    """FIFO of endpoint packets, which never waits for whoever reads it.

    A packet comes out three cycles after it went in; one per cycle passes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    lane : ``In(index_bits(lanes))``
        Port that the packets came in by, which all of them get.
    i : ``In(HeaderFields(config))``
        Headers of a packet to be queued.
    push : ``In(1)``
        Queue it; only if there is ``room``.
    room : ``Out(1)``
        There is room for one.
    o : ``Out(stream.Signature(RxEndpoint(config)))``
        Packets, in order.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "lane": In(index_bits(config.lanes)),
            "i": In(HeaderFields(config)),
            "push": In(1),
            "room": Out(1),
            "o": Out(stream.Signature(RxEndpoint(config))),
        })

    def elaborate(self, platform):
        m = Module()

        layout = RxEndpoint(self.config)
        row = data.StructLayout({name: f.shape for name, f in layout if name != "lane"})
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=row.size, depth=ENDPOINTS)
        fields, body = self.i, self.i.body
        is_response = fields.opcode == Opcode.ENDPOINT_RESPONSE
        values = {
            "source": fields.source,
            "response": is_response,
            "operation": Mux(is_response, body.response.operation, body.request.operation),
            "identifier": fields.psn[: row["identifier"].width],
            "port_status_mask": Mux(is_response, 0, body.request.port_status_mask),
            "tx_timestamp": fields.tx_timestamp,
            "ce": fields.ce,
            "ev": fields.ev,
        }
        m.d.comb += queue.w_data.eq(Cat(values[name] for name, _ in row))
        m.d.comb += queue.w_en.eq(self.push)
        m.d.comb += self.room.eq(queue.w_rdy)

        # The port is the first field, and the same in all.
        m.d.comb += Value.cast(self.o.payload).eq(Cat(self.lane, queue.r_data))
        m.d.comb += self.o.valid.eq(queue.r_rdy)
        m.d.comb += queue.r_en.eq(self.o.ready)

        return m
