"""Literal packets into a whole lane."""

import pytest
from received import PACKETS, plain, receive, tunnel

#: Addresses of the protocol's own vectors.
V_A = 0xFD000000000000010000000000000001
V_B = 0xFD000000000000020000000000000001
V_BLOCK = 0xFCBBBBBB


@pytest.mark.parametrize("beat_octets", [8, 16, 32, 64, 128])
@pytest.mark.parametrize("outer", [plain, tunnel])
def test_d1(beat_octets, outer):
    result = receive([outer(PACKETS["D1"])], beat_octets)
    assert result.events == {"rx_packets": 1}
    assert result.payloads == [bytes(range(0x10, 0x20))]
    assert not result.responses
    (request,) = result.requests
    assert (request.opcode, request.dqp, request.psn) == (0xCA, 0x12, 0x105)
    assert (request.ack_request, request.retransmission, request.ce) == (1, 0, 0)
    assert (request.ev, request.tx_timestamp, request.pad) == (0xC0052010, 0x1234, 0)
    assert (request.octets, request.payload, request.no_room) == (16, 1, 0)
    assert (request.body.write.meth.rqmsn, request.body.write.meth.msn) == (0, 0x21)
    reth = request.body.write.reth
    assert (reth.va, reth.rkey, reth.dmalen) == (0x100000, 0x0BADCAFE, 16)
