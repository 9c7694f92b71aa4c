"""What the bench of a transfer makes of what it is given, without a simulator."""

import random
from collections import deque
from itertools import pairwise
from types import SimpleNamespace

import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.bench.deliveries import SOURCE, TARGET, UNTOUCHED, compare, cut
from mrcnic.sim.bench.first_flight import FirstFlight, flight_packets

SPEC = {"qps": 2, "lengths": (), "immediates": (), "gap": 0}


def test_cut_covers_the_content_and_qps_take_turns():
    messages = cut(SPEC, 100_000, mtu=1024, flight=0)
    assert [m.qp for m in messages] == [n % 2 for n in range(len(messages))]
    assert sum(m.octets for m in messages) == 100_000
    assert all(b.start == a.start + a.octets for a, b in pairwise(messages))
    assert [n for n, m in enumerate(messages) if m.immediate is not None] == [5, 6]


def test_cut_with_gaps_immediates_and_flights():
    spec = {**SPEC, "lengths": (10, 20, 30), "immediates": (0,), "gap": 7}
    messages = cut(spec, 10 + 20 + 30 + 2 * 512, mtu=256, flight=512)
    assert [m.target - m.start for m in messages] == [0, 7, 14, 21, 28]
    assert [(m.qp, m.octets) for m in messages] == [(0, 10), (1, 20), (0, 30), (0, 512), (1, 512)]
    assert [m.immediate for m in messages] == [0, 1, 2, 3, 4]


CONTENT = random.Random(0).randbytes(60)


def compared(*, meddle=lambda a, b: None, told=(0, 1, 2), statuses="OK OK OK", **rest):
    spec = {**SPEC, "lengths": (10, 20, 30), "immediates": (0,), "gap": 5}
    messages = cut(spec, 60, mtu=256, flight=0)
    a, b = (bytearray(UNTOUCHED * 0x30000) for _ in "ab")
    a[SOURCE : SOURCE + 60] = CONTENT
    for m in messages:
        b[TARGET + m.target : TARGET + m.target + m.octets] = m.of(CONTENT)
    model = SimpleNamespace(memory=bytes(b[TARGET : TARGET + 70]), immediates=[], verdicts={})
    meddle(a, b)
    immediates = deque(
        SimpleNamespace(qp=messages[n].qp, immediate=n, octets=messages[n].octets) for n in told
    )
    model.immediates = [(n, messages[n].octets) for n in range(3)]
    hosts = {
        "a": SimpleNamespace(contents=lambda: bytes(a)),
        "b": SimpleNamespace(contents=lambda: bytes(b), immediates=immediates),
    }
    return compare(
        messages, dict(enumerate(statuses.split())), CONTENT, source=SOURCE, hosts=hosts,
        receivers=[0, 1], model=model, **{"renewed": set(), **rest},
    )  # fmt: skip


def test_all_is_well():
    result = compared()
    good = ("memory_as_modelled", "rest_untouched", "immediates_complete", "immediates_in_order")
    assert all(result[name] for name in (*good, "immediates_as_modelled"))
    assert result["sha256_sent"] == result["sha256_received"]
    assert (result["failed"], result["wrong_messages"]) == ([], [])


def test_what_was_not_posted_leaves_memory_alone():
    def meddle(a, b):
        b[TARGET + 40 : TARGET + 70] = UNTOUCHED * 30

    result = compared(meddle=meddle, statuses="OK OK", told=(0, 1), withheld={2})
    assert result["rest_untouched"]
    assert result["sha256_sent"] == result["sha256_received"]
    assert result["messages"] == 2
    assert not compared(statuses="OK OK", told=(0, 1), withheld={2})["rest_untouched"]


@pytest.mark.parametrize("at", [TARGET - 1, TARGET + 10, TARGET + 14, TARGET + 70, 0, SOURCE])
def test_an_octet_outside_of_the_targets(at):
    def meddle(a, b):
        b[at] ^= 1

    result = compared(meddle=meddle)
    assert not result["rest_untouched"]
    assert result["wrong_messages"] == []


@pytest.mark.parametrize("at", [0, SOURCE, SOURCE + 59])
def test_memory_of_the_sender_is_only_read(at):
    def meddle(a, b):
        a[at] ^= 1

    assert not compared(meddle=meddle)["rest_untouched"]


def test_a_message_that_is_wrong():
    def meddle(a, b):
        b[TARGET + 15] ^= 1

    result = compared(meddle=meddle)
    assert result["wrong_messages"] == [1]
    assert result["rest_untouched"]
    assert not result["memory_as_modelled"]
    assert compared(meddle=meddle, statuses="OK FLUSHED OK")["wrong_messages"] == []


@pytest.mark.parametrize(
    ("told", "complete", "in_order"),
    [
        ((0, 1), False, True),
        ((2, 0, 1), True, False),
        ((1, 0, 2), True, True),
        ((0, 1, 2, 2), True, False),
    ],
)
def test_immediates(told, complete, in_order):
    result = compared(told=told)
    assert (result["immediates_complete"], result["immediates_in_order"]) == (complete, in_order)


def test_a_message_that_failed_may_have_been_told_of():
    result = compared(told=(0, 1), statuses="OK OK FLUSHED")
    assert result["immediates_complete"]


def test_what_was_under_way_when_a_qp_was_destroyed_is_left_open():
    def meddle(a, b):
        b[TARGET + 10 + 5 + 3] ^= 1  # in the second message

    arguments = {"meddle": meddle, "told": (0, 2), "statuses": "OK FLUSHED OK"}
    result = compared(**arguments, renewed={1})
    assert all(
        result[name]
        for name in ("memory_as_modelled", "immediates_as_modelled", "immediates_in_order")
    )
    assert not compared(**arguments)["memory_as_modelled"]
    assert not compared(**{**arguments, "statuses": "OK OK OK"}, renewed={1})["memory_as_modelled"]


def write(psn):
    return SimpleNamespace(dqp=0x20, opcode=Opcode.WRITE_MIDDLE, psn=psn)


def sack(cack, offset=0, probe_reply=0):
    seth = {"cack_psn": cack, "ack_psn_offset": offset & 0xFFFF, "probe_reply": probe_reply}
    return SimpleNamespace(dqp=0x10, opcode=Opcode.SACK, extensions={"seth": seth})


@pytest.mark.parametrize(
    ("answers", "short"),
    [
        ([], False),
        ([sack(0xFFFFFD)], False),  # of what was sent before
        ([sack(0xFFFFFD, offset=9, probe_reply=1)], False),
        ([sack(0xFFFFFE)], True),
        ([sack(0xFFFFFD, offset=2)], True),
    ],
)
def test_first_flight(answers, short):
    watcher = FirstFlight(4)
    watcher.add(0x10, remote_qpn=0x20)
    for psn in (0xFFFFFE, 0xFFFFFF, 0xFFFFFF, 0):
        watcher.sent(write(psn))
    for packet in answers:
        watcher.received(packet)
    watcher.sent(write(1))
    assert watcher.shortfalls == (["QP 0x10 sends 3 of 4 packets at once"] if short else [])


def test_flights_fit_window_slots_and_time():
    sizes = {"qps": 1, "mtu": 256, "cwnd": 10**6, "mpr": 1}
    sim, tiny = PRESETS["sim"], PRESETS["tiny"]
    assert flight_packets(sim, **sizes) == 19_200 // 348
    assert flight_packets(sim, **{**sizes, "mpr": 4}) == 19_200 // 348
    assert flight_packets(tiny, **sizes) == 2_400 // 348
    assert flight_packets(sim, **{**sizes, "cwnd": 3000}) == 3000 // 348
    assert flight_packets(sim, **{**sizes, "cwnd": 256}) == 1
