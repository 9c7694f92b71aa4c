"""Everything around a retransmit buffer: host memory, paths, lanes and a peer, in plain Python."""

import random
from collections import Counter, deque

from amaranth.sim import Simulator

from mrcnic.hdl import rows
from mrcnic.hdl.retransmit.buffer import RetransmitBuffer
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Opcode, Role
from mrcnic.hdl.wire.psn import psn_add, psn_difference

#: Cycles of a tick of ``now``; few, so that benches are short.
TICK_CYCLES = 4

#: From taking an acknowledgement in to no resend being offered any more.
ACK_CYCLES = 8


def octets_of(address: int, count: int) -> bytes:
    """Return what host memory holds."""
    return bytes((address * 7 + n * 13 + (n >> 8)) % 256 for n in range(count))


class World:
    """A retransmit buffer and its surroundings, one cycle at a time.

    A world runs once: what is to happen is queued before, or set off by :func:`after`.

    ``lose(packet)`` says whether a packet is lost, ``delay()`` how many cycles the way there and
    back takes. ``log`` has everything that happened, as tuples ``(cycle, what, ...)``.
    """

    def __init__(
        self,
        config,
        *,
        seed=0,
        base_rtt=30,
        target_delay=10,
        reorder=3,
        timeout=4,
        linear=7,
        exponential=7,
    ):
        self.config = config
        self.dut = RetransmitBuffer(config)
        self.rng = random.Random(seed)
        self.settings = {
            "base_rtt": base_rtt,
            "target_delay": target_delay,
            "reorder_packets": reorder,
        }
        self.retry = {"timeout": timeout, "linear_count": linear, "exponential_count": exponential}
        self.lose = lambda packet: False
        self.refuse = lambda packet: None  # reason of a NACK
        self.delay = lambda: 100
        self.answer = True  # the peer sends SACKs
        self.fetch_error = lambda address: False
        self.pause = lambda: False
        self.up = (1 << config.lanes) - 1
        self.sending = True
        self.cycle = 0
        self.log = []
        self.packets = {}  # (qp, psn): what was allocated
        self.first = {}
        self.next_psn = {}
        self.arrived = {}
        self.cack = {}  # as the peer has it
        self.known_cack = {}  # as the buffer was told
        self.retired = Counter()
        self.acked_by_peer = set()
        self.acked_before = set()
        self.ack_contents = deque()  # of acknowledgements not yet taken
        self.ack_taken = {}  # when
        self.offered_since = None
        self.queues = {}
        self.later = []  # (cycle, function)
        self.lane_jobs = [deque() for _ in range(config.lanes)]
        self.lane_data = [bytearray() for _ in range(config.lanes)]
        self.values = {}

    # ---- what a test does

    def create(self, qp, psn, *, active=1):
        """Have the host write the row of a QP."""
        layout = HeaderLayout(rows.QP_ROW)
        row = layout.const({"active": active, "tx_psn": psn, "trim_nack": 1, **self.retry})
        self.put("table", {"table": int(rows.Table.QP), "index": qp, "row": row.as_value().value})
        if active:
            self.first[qp] = self.next_psn[qp] = psn
            self.arrived[qp] = set()
            self.cack[qp] = self.known_cack[qp] = psn_add(psn, -1)

    def allocate(self, qp, octets, *, role=Role.TRIMMABLE):
        """Queue a new packet; return its PSN."""
        psn = self.next_psn[qp]
        self.next_psn[qp] = psn_add(psn, 1)
        packet = {
            "qp": qp,
            "opcode": int(Opcode.WRITE_ONLY),
            "psn": psn,
            "ack_request": psn & 1,
            "role": int(role),
            "octets": octets,
            "local_address": (qp << 40) + psn * 4096 + qp,
            "body": {
                "meth": {"msn": psn & 0xFFFF, "rqmsn": 0},
                "reth": {"va": psn << 12, "rkey": 7 + qp, "dmalen": octets},
                "immediate": 0,
            },
        }
        self.packets[qp, psn] = packet
        self.put("allocate", packet)
        return psn

    def put(self, name, value):
        self.queues.setdefault(name, deque()).append(value)

    def acknowledge(self, qp, cack, base=None, bitmap=0, **more):
        """Put a SACK into the buffer, as the requester would."""
        base = psn_add(cack, 1) if base is None else base
        for n in range(64):
            place = psn_add(base, n)
            known = psn_difference(self.next_psn[qp], place) > 0
            if not (known and psn_difference(place, cack) > 0):
                bitmap &= ~(1 << n)
            elif bitmap >> n & 1:
                self.acked_by_peer.add((qp, place))
        while psn_difference(cack, self.known_cack[qp]) > 0:
            self.known_cack[qp] = psn_add(self.known_cack[qp], 1)
            self.acked_by_peer.add((qp, self.known_cack[qp]))
        self.note("ack", qp, cack, base, bitmap)
        self.ack_contents.append(self.acked_by_peer - self.acked_before)
        self.acked_before |= self.acked_by_peer
        self.put(
            "acknowledgement",
            {"qp": qp, "cack": cack, "base": base, "bitmap": bitmap, "trigger": cack, **more},
        )

    def nack(self, qp, psn, reason):
        self.note("nack", qp, psn, reason)
        self.put("nack", {"qp": qp, "psn": psn, "reason": reason})

    def happened(self, what):
        return [entry for entry in self.log if entry[1] == what]

    def note(self, *entry):
        self.log.append((self.cycle, *entry))

    # ---- what the surroundings do

    def after(self, cycles, function):
        self.later.append((self.cycle + max(1, cycles), function))

    def _send(self, request):
        resend = request.retransmission
        key = (request.qp, request.psn)
        packet = self.packets[key]
        expected = dict(packet)
        if resend and packet["role"] == Role.TRIMMABLE:
            expected["role"] = int(Role.TRIMMABLE_RETX)
        for name in ("opcode", "ack_request", "role", "octets"):
            assert int(getattr(request, name)) == expected[name], (name, key)
        for part in ("meth", "reth"):
            for name, value in packet["body"][part].items():
                assert getattr(getattr(request.body.write, part), name) == value, (name, key)
        assert request.avoid == request.avoid_plane == resend
        known = self.ack_taken.get(key, self.cycle)
        assert known >= self.offered_since - ACK_CYCLES, f"{key} was acknowledged long ago"
        self.offered_since = None
        lanes = [p for p in range(self.config.lanes) if self.up >> p & 1] or [0]
        plane = self.rng.choice(lanes)
        per_plane = self.config.evs_per_plane
        ev = plane * per_plane + self.rng.randrange(per_plane)
        if request.avoid and ev == request.avoid_ev:
            ev = plane * per_plane + (ev + 1) % per_plane
        self.note("resend" if resend else "send", *key, ev)
        if resend:
            last = [e for e in self.log if e[1] in ("send", "resend") and e[2:4] == key][-2]
            assert request.avoid_ev == last[4], "a resend avoids the EV of the last send"
        picked = {
            "qp": request.qp,
            "opcode": request.opcode,
            "psn": request.psn,
            "slot": request.slot,
            "octets": request.octets,
            "ev_index": ev,
            "plane": plane,
        }
        self.picks.append(picked)
        self.lane_jobs[plane].append((key, request.slot, request.octets))
        self.put(("read", plane), {"slot": request.slot, "octets": request.octets})

    def _probe(self, request):
        assert request.opcode == Opcode.PROBE
        assert request.psn == 0
        assert request.octets == 0
        identifier = request.body.probe.probe_id
        self.note("probe", request.qp, identifier, request.avoid_ev)
        self.picks.append({
            "qp": request.qp,
            "opcode": request.opcode,
            "psn": 0,
            "slot": 0,
            "octets": 0,
            "ev_index": 0,
            "plane": 0,
        })
        if not self.lose(("probe", request.qp, identifier)):
            self.after(self.delay(), lambda: self.report(request.qp, probe=1, probe_id=identifier))

    def _on_wire(self, key):
        self.note("wire", *key)
        if self.lose(key):
            self.note("lost", *key)
            return
        reason = self.refuse(key)
        if reason is not None:
            self.after(self.delay(), lambda: self.nack(*key, reason))
            return
        self.after(self.delay(), lambda: self._arrive(*key))

    def _arrive(self, qp, psn):
        if psn_difference(psn, self.cack[qp]) > 0:
            self.arrived[qp].add(psn)
        while psn_add(self.cack[qp], 1) in self.arrived[qp]:
            self.cack[qp] = psn_add(self.cack[qp], 1)
            self.arrived[qp].discard(self.cack[qp])
        self.report(qp, near=psn)

    def report(self, qp, near=None, **more):
        if not self.answer:
            return
        cack = self.cack[qp]
        base = psn_add(cack, 1)
        if near is not None and psn_difference(near, base) > 63:
            base = psn_add(near, -63)
        bitmap = sum(1 << n for n in range(64) if psn_add(base, n) in self.arrived[qp])
        self.acknowledge(qp, cack, base, bitmap, **more)

    def _fetch(self, lane, request):
        address, octets, beat = request.address, request.octets, self.config.beat_octets
        content = octets_of(address, octets)
        count = -(-octets // beat)
        for n in range(count):
            chunk = content[n * beat : (n + 1) * beat]
            self.put(
                ("store", lane),
                {
                    "slot": request.slot,
                    "beat": n,
                    "data": int.from_bytes(chunk, "little"),
                    "last": n == count - 1,
                    "error": n == count - 1 and self.fetch_error(address),
                },
            )

    def _payload(self, lane, beat):
        for n in range(self.config.beat_octets):
            if beat.keep >> n & 1:
                self.lane_data[lane].append(beat.data[n])
        if beat.last:
            key, _, octets = self.lane_jobs[lane].popleft()
            expected = octets_of(self.packets[key]["local_address"], octets)
            assert bytes(self.lane_data[lane]) == expected, f"payload of {key}"
            self.lane_data[lane].clear()
            self._on_wire(key)

    def _retired(self, event):
        waiting = [
            key
            for key in self.acked_by_peer
            if key[0] == event.qp
            and not self.retired[key]
            and self.packets[key]["octets"] == event.octets
        ]
        assert waiting, "a packet was retired that nobody acknowledged"
        self.retired[min(waiting, key=lambda key: psn_difference(key[1], self.first[key[0]]))] += 1
        self.note("retired", event.qp, event.octets)

    # ---- the cycle

    def run(self, cycles, until=None, *, settle=0):
        """Run for so many cycles at most, and for ``settle`` cycles after ``until`` came true."""
        self.picks = deque()
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        done = []

        async def bench(ctx):
            self._setup(ctx)
            for _ in range(cycles):
                await self._step(ctx)
                if until is not None and until(self):
                    done.append(True)
                    break
            for _ in range(settle):
                await self._step(ctx)
            self.occupied = ctx.get(self.dut.occupied)

        simulator.add_testbench(bench)
        simulator.run()
        assert until is None or done, f"nothing came of it in {cycles} cycles: {self.log[-20:]}"

    def _setup(self, ctx):
        dut, lanes = self.dut, range(self.config.lanes)
        for name, value in self.settings.items():
            ctx.set(getattr(dut.settings, name), value)
        self.inputs = {
            name: getattr(dut, name)
            for name in ("allocate", "acknowledgement", "nack", "stopped", "table")
        }
        self.inputs |= {("store", p): dut.store[p] for p in lanes}
        self.inputs |= {("read", p): dut.read[p] for p in lanes}
        self.outputs = [(dut.send, self._send), (dut.retired, self._retired)]
        self.outputs += [(dut.probe, self._probe)]
        self.outputs += [(dut.ev_events, lambda e: self.note("ev", e.qp, e.ev_index, e.kind))]
        self.outputs += [(dut.failed, lambda e: self.note("failed", e.qp, e.status))]
        self.outputs += [
            (dut.fetch[p], lambda request, p=p: self._fetch(p, request)) for p in lanes
        ]
        self.outputs += [(dut.payload[p], lambda beat, p=p: self._payload(p, beat)) for p in lanes]
        self.shown = {}

    def _set(self, ctx, signal, value):
        if self.values.get(id(signal), 0) != value:
            self.values[id(signal)] = value
            ctx.set(signal, value)

    async def _step(self, ctx):
        dut = self.dut
        due = [job for job in self.later if job[0] <= self.cycle]
        self.later = [job for job in self.later if job[0] > self.cycle]
        for _, function in due:
            function()
        if self.cycle % TICK_CYCLES == 0:
            ctx.set(dut.now, (self.cycle // TICK_CYCLES + 0xFFFF00) % (1 << 24))
        self._set(ctx, dut.port_up, self.up)
        self._set(ctx, dut.picked_valid, int(bool(self.picks)))
        if self.picks:
            ctx.set(dut.picked, self.picks.popleft())
        for name, port in self.inputs.items():
            queue = self.queues.get(name)
            waits = name == "allocate" and ("table" in self.shown or self.queues.get("table"))
            if name not in self.shown and queue and not waits and not self.pause():
                self.shown[name] = queue.popleft()
                ctx.set(port.payload, self.shown[name])
            self._set(ctx, port.valid, int(name in self.shown))
        for n, (port, _) in enumerate(self.outputs):
            ready = not self.pause() and (n != 0 or self.sending)
            self._set(ctx, port.ready, int(ready))
        if ctx.get(dut.send.valid) and self.offered_since is None:
            self.offered_since = self.cycle
        happenings = [
            (handle, ctx.get(port.payload))
            for port, handle in self.outputs
            if ctx.get(port.valid) and self.values.get(id(port.ready))
        ]
        taken = [name for name in self.shown if ctx.get(self.inputs[name].ready)]
        pulses = ctx.get(dut.events.as_value())
        for name, field in dut.events.shape() if pulses else ():
            if pulses >> field.offset & 1:
                self.note("event", name)
        await ctx.tick()
        self.cycle += 1
        for name in taken:
            del self.shown[name]
            if name == "allocate":
                self.note("allocated")
            if name == "acknowledgement":
                self.ack_taken |= dict.fromkeys(self.ack_contents.popleft(), self.cycle)
            if name == "table":
                self.note("table")
        for handle, payload in happenings:
            handle(payload)
