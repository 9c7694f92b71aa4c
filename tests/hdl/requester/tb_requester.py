"""Bench: a few messages through the requester, as the Verilog that gets built has it."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from requester_reference import segment

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.descriptor.outcome import Completion, Retired, Status
from mrcnic.hdl.descriptor.outwards import AllocateRequest, WorkRequest
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.rows import QP_ROW, Table
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource

QP = 2
NUMBER = 0x120000 + QP
START = 0xFFFFFD
ROW = QP_ROW.pack(
    active=1,
    qpn=NUMBER,
    tx_psn=START,
    mpr=1,
    max_immediates=32,
    cwnd=4 * (256 + 88),
    timeout=10,
    exponential_count=25,
)


async def start(dut):
    for name in ("i", "retired", "failed", "responses", "table"):
        getattr(dut, f"{name}__valid").value = 0
        getattr(dut, f"{name}__payload").value = 0
    for name in (
        "o",
        "allocate",
        "stopped",
        "acknowledgement",
        "nack",
        "ev_events",
        "probe",
        "probe_answers",
    ):
        getattr(dut, f"{name}__ready").value = 1
    dut.now.value = 0
    dut.settings.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0


@cocotb.test(timeout_time=50, timeout_unit="us")
async def messages_are_sent_and_end(dut):
    config = PRESETS[os.environ["PRESET"]]
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)

    def source(name, layout):
        return StreamSource(dut, name, layout, clk=dut.clk)

    row = {"table": Table.QP, "index": QP, "row": int.from_bytes(ROW, "big")}
    await source("table", TableWrite()).send([TableWrite().const(row)])
    asked = [
        {
            "qp": QP,
            "identifier": n,
            "octets": octets,
            "with_immediate": n % 2,
            "immediate": rng.getrandbits(32),
            "local_address": rng.getrandbits(48),
            "remote_address": rng.getrandbits(48),
        }
        for n, octets in enumerate((1, 512, 600, 256))
    ]
    packets = segment(asked, tx_psn=START, pmtu=256)

    requests = source("i", WorkRequest(config))
    cocotb.start_soon(requests.send([WorkRequest(config).const(request) for request in asked]))
    sink = StreamSink(dut, "allocate", AllocateRequest(config), clk=dut.clk)
    ends = StreamSink(dut, "o", Completion(config), clk=dut.clk)
    ended = cocotb.start_soon(ends.receive(len(asked)))
    retired = source("retired", Retired(config))
    responses = source("responses", RxDescriptor(config))
    messages = 0
    for packet in packets:
        (got,) = await sink.receive(1, pause=lambda: rng.random() < 0.3)
        assert (got.psn, got.opcode, got.octets, got.body.reth.va, got.local_address) == (
            packet["psn"],
            packet["opcode"],
            packet["octets"],
            packet["va"],
            packet["local"],
        )
        await retired.send([Retired(config).const({"qp": QP, "octets": packet["octets"]})])
        sack = {"seth": {"cack_psn": packet["psn"]}}
        answer = {"dqp": NUMBER, "opcode": Opcode.SACK, "body": {"sack": sack}}
        answers = [answer]
        if packet["last"]:
            messages += 1
            ack = {"syndrome": 0x1F, "msn": messages}
            answers.append(answer | {"opcode": Opcode.ACK, "body": {"ack": ack}})
        await responses.send([RxDescriptor(config).const(answer) for answer in answers])
    assert [(end.identifier, end.status) for end in await ended] == [
        (request["identifier"], Status.OK) for request in asked
    ]
