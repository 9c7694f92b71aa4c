from dataclasses import replace

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.bench.packet_log import PacketLog
from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.transit import trimmed
from mrcnic.sim.measure.frames import acknowledgement, write

EV = EvFields(index=37, plane=1, uplink=2).pack()


def packet(**fields):
    return replace(write(162, srv6=True, psn=0x123), dqp=0x2003, ev=EV, **fields)


def test_times_count_from_the_beginning():
    log = PacketLog()
    log.note_sent("a1", packet(retransmission=1), 30_000_000, 29_000_000)
    log.note_arrived("b1", packet(), 33_000_000)
    log.note_lost("p1t00-p1t11", packet().encode(), 31_000_000)
    figures = log.figures(began_ps=10_000_000)
    (sent,), (arrived,), (lost,) = (figures[name] for name in ("sent", "arrived", "lost"))
    assert (sent.time_us, sent.began_us, sent.place, sent.kind) == (20, 19, "a1", "WRITE")
    assert (sent.qp, sent.number, sent.ev, sent.resent, sent.octets) == (3, 0x123, 37, True, 20)
    assert (arrived.time_us, arrived.place, arrived.resent) == (23, "b1", False)
    assert (lost.time_us, lost.place, lost.number) == (21, "p1t00-p1t11", 0x123)


def test_a_frame_that_is_none_of_ours_is_passed_over():
    log = PacketLog()
    log.note_lost("p0t00-p0t10", bytes(60), 0)
    assert log.figures(began_ps=0)["lost"] == []


def test_what_was_cut_has_not_arrived():
    log = PacketLog()
    log.note_arrived("b1", Packet.decode(trimmed(packet().encode(), last_hop=False)), 0)
    assert log.figures(began_ps=0)["arrived"] == []


def test_an_answer_to_a_probe_bears_its_id():
    log = PacketLog()
    seth = {"probe_reply": 1, "ack_psn_offset": 0x2507}
    answer = replace(
        acknowledgement(srv6=True, psn=1), opcode=Opcode.SACK, extensions={"seth": seth}
    )
    log.note_sent("b0", answer, 0, 0)
    (sent,) = log.figures(began_ps=0)["sent"]
    assert (sent.kind, sent.number) == ("ANSWER", 0x2507)
