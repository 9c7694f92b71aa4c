"""A part at the end of a JTAG cable: a TAP that answers on loopback, by XVC 1.0."""

import socket
import threading

__all__ = ["Ecp5", "XvcServer"]

# States of a TAP controller (IEEE 1149.1), and where TMS 0 and 1 lead.
_NEXT = {
    "reset": ("idle", "reset"),
    "idle": ("idle", "select dr"),
    "select dr": ("capture dr", "select ir"),
    "capture dr": ("shift dr", "exit1 dr"),
    "shift dr": ("shift dr", "exit1 dr"),
    "exit1 dr": ("pause dr", "update dr"),
    "pause dr": ("pause dr", "exit2 dr"),
    "exit2 dr": ("shift dr", "update dr"),
    "update dr": ("idle", "select dr"),
    "select ir": ("capture ir", "reset"),
    "capture ir": ("shift ir", "exit1 ir"),
    "shift ir": ("shift ir", "exit1 ir"),
    "exit1 ir": ("pause ir", "update ir"),
    "pause ir": ("pause ir", "exit2 ir"),
    "exit2 ir": ("shift ir", "update ir"),
    "update ir": ("idle", "select dr"),
}


class Ecp5:
    """ECP5 as far as a loader sees it. It judges a bitstream when it is told that it has ended.

    Parameters
    ----------
    idcode : int
    accepts : callable
        Whether a bitstream is good, given its octets.
    """

    IR_BITS = 8
    READ_ID, READ_STATUS, BURST, ENABLE, DISABLE = 0xE0, 0x3C, 0x7A, 0xC6, 0x26
    # The error code of a wrong CRC is 3 (FPGA-TN-02039, status register).
    DONE, ENABLED, FAIL = 1 << 8, 1 << 9, 1 << 13 | 3 << 23

    def __init__(self, idcode, accepts):
        self.idcode = idcode
        self.accepts = accepts
        self.status = 0
        self.loaded = None
        self.instruction = self.READ_ID
        self.state = "reset"
        self._register = 0
        self._bits = bytearray()

    def clock(self, tms, tdi):
        """One cycle of TCK; return TDO."""
        tdo = 0
        if self.state == "shift ir":
            tdo = self._register & 1
            self._register = self._register >> 1 | tdi << self.IR_BITS - 1
        elif self.state == "shift dr":
            tdo = self._register & 1
            if self.instruction == self.BURST:
                self._bits.append(tdi)
            else:
                self._register = self._register >> 1 | tdi << 31
        self.state = _NEXT[self.state][tms]
        if self.state == "reset":
            self.instruction = self.READ_ID
        elif self.state == "capture ir":
            self._register = 1
        elif self.state == "capture dr":
            values = {self.READ_ID: self.idcode, self.READ_STATUS: self.status}
            self._register = values.get(self.instruction, 0)
        elif self.state == "update ir":
            self._update(self._register & (1 << self.IR_BITS) - 1)
        return tdo

    def _update(self, instruction):
        if self.instruction == self.BURST and self._bits:
            self._judge()
        self.instruction = instruction
        if instruction == self.ENABLE:
            self.status = self.ENABLED
        elif instruction == self.DISABLE:
            self.status &= ~self.ENABLED

    def _judge(self):
        text = "".join(map(str, self._bits))
        self.loaded = int(text, 2).to_bytes(len(text) // 8) if len(text) % 8 == 0 else b""
        self._bits.clear()
        self.status |= self.DONE if self.accepts(self.loaded) else self.FAIL


class XvcServer:
    """One cable, with a part at its end, on a free port of loopback.

    Attributes
    ----------
    port : int
    """

    def __init__(self, part):
        self.part = part
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                while self._answer(stream):
                    stream.flush()

    def _answer(self, stream):
        command = b""
        while not command.endswith(b":"):
            octet = stream.read(1)
            if not octet:
                return False
            command += octet
        if command == b"getinfo:":
            stream.write(b"xvcServer_v1.0:2048\n")
        elif command == b"settck:":
            stream.write(stream.read(4))
        elif command == b"shift:":
            count = int.from_bytes(stream.read(4), "little")
            octets = (count + 7) // 8
            tms, tdi = (int.from_bytes(stream.read(octets), "little") for _ in range(2))
            tdo = 0
            for n in range(count):
                tdo |= self.part.clock(tms >> n & 1, tdi >> n & 1) << n
            stream.write(tdo.to_bytes(octets, "little"))
        else:
            raise AssertionError(command)
        return True
