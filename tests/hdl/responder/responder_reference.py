"""The responder in plain Python: sets and dicts, no clock."""

from mrcnic.hdl.wire.opcodes import Opcode

WRITES = range(Opcode.WRITE_FIRST, Opcode.WRITE_ONLY_IMM + 1)
LAST = (Opcode.WRITE_LAST, Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)
WITH_IMMEDIATE = (Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM)


def distance(psn, base):
    return (psn - base + 2**23) % 2**24 - 2**23


class ReferenceQp:
    """One QP, which does everything at once."""

    def __init__(self, psn, *, window):
        self.window = window
        self.start = psn
        self.expected = psn
        self.seen = {}  # PSN: packet
        self.octets = 0
        self.highest = (psn - 1) % 2**24
        self.lowest = psn
        self.messages = []  # last packets that cack has passed, in order

    def take(self, packet):
        """Judge a write: ``"new"``, ``"duplicate"``, ``"beyond"`` or ``"no_room"``."""
        ahead = distance(packet.psn, self.expected)
        if ahead < 0 or packet.psn in self.seen:
            return "duplicate"
        if ahead >= self.window:
            return "beyond"
        if packet.no_room:
            return "no_room"
        self.seen[packet.psn] = packet
        udp = 8 + 12 + 4 + 4 + 16 + 4 + packet.octets + packet.pad
        self.octets += udp + 4 * (packet.opcode in WITH_IMMEDIATE) + 40
        if distance(packet.psn, self.highest) > 0:
            self.highest = packet.psn
        while self.expected in self.seen:
            passed = self.seen[self.expected]
            if passed.opcode in LAST:
                self.messages.append(passed)
            self.expected = (self.expected + 1) % 2**24
        return "new"

    def sack(self):
        """Return what a SACK of now would say, and move on what is reported."""
        cack = (self.expected - 1) % 2**24
        held = distance(self.highest, cack)
        if distance(self.lowest, self.expected) < 0:
            self.lowest = self.expected
        above = [n for n in range(1, held + 1) if (cack + n) % 2**24 in self.seen]
        base = min((n for n in above if n >= distance(self.lowest, cack)), default=1)
        if base + 63 > held:
            base = max(1, held - 63)
        self.lowest = (cack + base + 64) % 2**24 if base + 64 <= held else self.expected
        return {
            "cack_psn": cack,
            "sack_offset": base,
            "sack_bitmap": sum(1 << n - base for n in above if base <= n < base + 64),
            "ooo_count": len(above),
            "rcvd_bytes": -(-self.octets // 256) % 2**24,
        }

    def immediates(self):
        """Return the packets with immediate that may be delivered, in order of their numbers."""
        waiting = {
            packet.body.write.meth.rqmsn: packet
            for packet in self.messages
            if packet.opcode in WITH_IMMEDIATE
        }
        ready = []
        while len(ready) in waiting:
            ready.append(waiting[len(ready)])
        return ready
