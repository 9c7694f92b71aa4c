"""Host memory on AXI4, for Amaranth's own simulator."""

from collections import deque

from mrcnic.hdl.host.axi import BOUNDARY_OCTETS, Burst, Response

__all__ = ["AxiMemory"]


class AxiMemory:
    """Octets behind an AXI4 port; :meth:`serve` is a bench.

    ``latency`` cycles pass from an address, or the last word, to the answer. Addresses in ``bad``
    answer with an error. ``pause()`` says whether a channel waits.
    """

    def __init__(self, axi, *, octets, latency=1, pause=lambda: False, bad=()):
        self.axi = axi
        self.octets = octets
        self.latency = latency
        self.pause = pause
        self.bad = bad
        self.memory = {}
        self.done = False
        self.bursts = []
        self.most_under_way = 0

    def write(self, address, octets):
        for place, octet in enumerate(octets):
            self.memory[address + place] = octet

    def read(self, address, length):
        return bytes(self.memory.get(address + place, 0) for place in range(length))

    def _check(self, address, length, size, burst):
        octets = self.octets * (length + 1)
        assert 1 << size == self.octets
        assert burst == Burst.INCR
        assert address % self.octets == 0
        assert address // BOUNDARY_OCTETS == (address + octets - 1) // BOUNDARY_OCTETS
        self.bursts.append((address, length + 1))

    def _response(self, address):
        bad = any(address <= one < address + self.octets for one in self.bad)
        return Response.SLVERR if bad else Response.OKAY

    async def serve_reads(self, ctx):
        axi = self.axi
        words = deque()  # (cycle in which it is there, address, last)
        cycle = 0
        while not self.done:
            ctx.set(axi.arready, not self.pause())
            offered = bool(words) and words[0][0] <= cycle
            if offered and not ctx.get(axi.rvalid):
                offered = not self.pause()
            ctx.set(axi.rvalid, offered)
            if offered:
                _, address, last = words[0]
                ctx.set(axi.rdata, int.from_bytes(self.read(address, self.octets), "little"))
                ctx.set(axi.rresp, self._response(address))
                ctx.set(axi.rlast, last)
            _, _, taken, arvalid, arready, address, length, size, burst = await ctx.tick().sample(
                axi.rready, axi.arvalid, axi.arready, axi.araddr, axi.arlen, axi.arsize, axi.arburst
            )
            cycle += 1
            if offered and taken:
                words.popleft()
            if arvalid and arready:
                self._check(address, length, size, burst)
                for n in range(length + 1):
                    due = cycle + self.latency - 1
                    words.append((due, address + n * self.octets, n == length))
                self.most_under_way = max(self.most_under_way, len(words))

    async def serve_writes(self, ctx):
        axi = self.axi
        addresses = deque()  # (address, length) whose data is not all there
        data = deque()
        responses = deque()  # (cycle in which it is there, response)
        response = Response.OKAY
        beat = 0
        cycle = 0
        while not self.done:
            ctx.set(axi.awready, not self.pause())
            ctx.set(axi.wready, not self.pause())
            offered = bool(responses) and responses[0][0] <= cycle
            ctx.set(axi.bvalid, offered)
            if offered:
                ctx.set(axi.bresp, responses[0][1])
            sampled = await ctx.tick().sample(
                axi.bready, axi.awvalid, axi.awready, axi.awaddr, axi.awlen, axi.awsize,
                axi.awburst, axi.wvalid, axi.wready, axi.wdata, axi.wstrb, axi.wlast,
            )  # fmt: skip
            taken, awvalid, awready, address, length, size, burst = sampled[2:9]
            wvalid, wready, wdata, wstrb, wlast = sampled[9:]
            cycle += 1
            if offered and taken:
                responses.popleft()
            if awvalid and awready:
                self._check(address, length, size, burst)
                addresses.append((address, length))
            if wvalid and wready:
                data.append((wdata, wstrb, wlast))
            while addresses and data:
                address, length = addresses[0]
                wdata, wstrb, wlast = data.popleft()
                assert wlast == (beat == length)
                assert wstrb, "a word without octets"
                start = address + beat * self.octets
                for place in range(self.octets):
                    if wstrb >> place & 1:
                        self.memory[start + place] = wdata >> 8 * place & 0xFF
                if self._response(start) != Response.OKAY:
                    response = Response.SLVERR
                beat += 1
                if wlast:
                    responses.append((cycle + self.latency - 1, response))
                    addresses.popleft()
                    beat = 0
                    response = Response.OKAY
