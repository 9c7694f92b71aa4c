"""The two halves of the model against each other, over a channel that does what it likes."""

import heapq
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.sim.model.messages import (
    Ack,
    Mark,
    Nack,
    Probe,
    QueuePair,
    Sack,
    Verdict,
    WorkRequest,
    Write,
)
from mrcnic.sim.model.requester import Requester
from mrcnic.sim.model.responder import Responder
from mrcnic.sim.model.spray import Spray

PLANES = [[0, 1, 2, 3], [4, 5, 6, 7]]
STEP_NS = 200


class Channel:
    """Requester and responder with a network between that delays each packet by itself."""

    def __init__(self, *, seed=0, lose=lambda item, count: False, planes=PLANES, probing=(), **qp):
        self.rng = random.Random(seed)
        self.lose = lose
        self.memory = {}
        self.writes = 0
        qp = {"qpn": 0x12, "remote_qpn": 0x34, "mtu": 256, **qp}
        spray = Spray(planes, rng=random.Random(seed), **dict(probing))
        self.requester = Requester(QueuePair(**qp), spray)
        self.responder = Responder(QueuePair(**{**qp, "rx_psn": qp.get("tx_psn", 0)}), self.place)
        self.now = self.last_write = 0
        self.queue = []
        self.count = 0
        self.verdicts = []

    def place(self, rkey, va, dmalen, payload):
        if rkey != 7:
            return False
        self.writes += 1
        for n, octet in enumerate(payload):
            assert va + n not in self.memory, "an octet is written twice"
            self.memory[va + n] = octet
        return True

    def put(self, item):
        self.count += 1
        if not self.lose(item, self.count):
            when = self.now + 5_000 + self.rng.randint(0, 2_000)
            heapq.heappush(self.queue, (when, self.count, item))

    def run(self, limit_ns=100_000_000):
        while not self.requester.idle:
            assert self.now < limit_ns, "the transfer hangs"
            while self.queue and self.queue[0][0] <= self.now:
                self.arrive(heapq.heappop(self.queue)[2])
            self.requester.on_time(self.now)
            usable = range(len(self.requester.spray.planes))
            if packet := self.requester.send(self.now, usable=usable):
                self.put(packet)
            if self.now - self.last_write > 2_000:
                for answer in self.responder.flush():
                    self.put(answer)
            self.now += STEP_NS

    def arrive(self, item):
        if isinstance(item, Write):
            self.last_write = self.now
            verdict, answers = self.responder.on_write(item)
            self.verdicts.append(verdict)
        elif isinstance(item, Probe):
            answers = self.responder.on_probe(item)
        else:
            answers = []
            react = {Sack: self.requester.on_sack, Nack: self.requester.on_nack}
            if isinstance(item, Ack):
                self.requester.on_ack(item)
            else:
                react[type(item)](item, self.now)
        for answer in answers:
            self.put(answer)


def transfer(channel, lengths, *, rkey=7, immediates=False):
    content = {}
    address = 0x1000
    for n, octets in enumerate(lengths):
        message = random.Random(n).randbytes(octets)
        content.update(zip(range(address, address + octets), message, strict=True))
        channel.requester.post(
            WorkRequest(
                identifier=n,
                remote_address=address,
                rkey=rkey,
                content=message,
                immediate=100 + n if immediates else None,
            )
        )
        address += octets
    channel.run()
    return content


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 1500), min_size=1, max_size=8),
    st.sampled_from([0, 0.02, 0.2]),
    st.sampled_from([0, 0xFFFFF0]),
    st.integers(0, 2**32),
)
def test_everything_arrives_once(lengths, loss, psn, seed):
    rng = random.Random(seed)
    channel = Channel(seed=seed, tx_psn=psn, lose=lambda item, n: rng.random() < loss)
    assert transfer(channel, lengths, immediates=True) == channel.memory
    assert channel.requester.completions == [(n, "OK") for n in range(len(lengths))]
    told = [(item.immediate, item.octets) for item in channel.responder.immediates]
    assert told == [(100 + n, octets) for n, octets in enumerate(lengths)]


@pytest.mark.parametrize("lost", range(1, 9))
def test_each_packet_of_eight_lost_alone(lost):
    channel = Channel(lose=lambda item, n: isinstance(item, Write) and n == lost)
    assert transfer(channel, [8 * 256]) == channel.memory
    assert channel.requester.resends == 1
    assert Verdict.DUPLICATE not in channel.verdicts


def test_lost_acks_are_asked_for_again():
    seen = []

    def lose(item, n):
        if isinstance(item, Ack):
            seen.append(item)
            return len(seen) < 3
        return False

    channel = Channel(lose=lose)
    assert transfer(channel, [300]) == channel.memory
    assert channel.requester.completions == [(0, "OK")]
    assert channel.requester.resends == 0


def test_no_spurious_resends_without_loss():
    channel = Channel(seed=3)
    transfer(channel, [200 * 256])
    assert channel.requester.resends == 0


def test_window_is_never_exceeded():
    channel = Channel(window=16, cwnd=10**9)
    send = channel.requester.send

    def checked(now, *, usable):
        packet = send(now, usable=usable)
        assert len(channel.requester.flights) <= 16
        return packet

    channel.requester.send = checked
    transfer(channel, [100 * 256])
    assert Verdict.BEYOND not in channel.verdicts


def test_dead_path_is_left_alone():
    sent = []

    def lose(item, n):
        if isinstance(item, Write):
            sent.append(item.ev_index)
        return isinstance(item, Write) and item.ev_index == 5

    channel = Channel(lose=lose)
    transfer(channel, [400 * 256])
    # One packet is out on it before the first loss can be known, perhaps a few of them, and one
    # more each time it is tried again.
    assert sent.count(5) < sent.count(4) / 2


def test_a_path_that_is_well_again_comes_back():
    dead_until_ns = 60_000
    sent = []

    def lose(item, n):
        if isinstance(item, Write):
            sent.append((channel.now, item.ev_index))
        return getattr(item, "ev_index", None) == 5 and channel.now < dead_until_ns

    channel = Channel(lose=lose, probing={"delay_ns": 10_000, "timeout_ns": 20_000})
    transfer(channel, [1500 * 256])
    assert {ev for now, ev in sent if now > 250_000} == {0, 1, 2, 3, 4, 5, 6, 7}


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_peer_changes_its_window(dynamic):
    requester = Requester(
        QueuePair(qpn=1, remote_qpn=2, window=128, dynamic_mpr=dynamic, tx_psn=1),
        Spray(PLANES, rng=random.Random(1)),
    )
    told = []
    for cack, mpr in ((0, 2), (0, 0), (-1, 4)):
        cack %= 2**24
        requester.on_sack(
            Sack(cack=cack, offset=1, bitmap=0, mark=Mark.NONE, ev_index=0, sent_ns=0, mpr=mpr), 0
        )
        told.append(requester.window)
    assert told == ([256, 256, 256] if dynamic else [128, 128, 128])


@pytest.mark.parametrize(("last_hop", "reason"), [(False, 1), (True, 2)])
def test_trimmed_packets(last_hop, reason):
    """A NACK as long as the PSN is missing in the window, a SACK once it is there, or nothing."""
    responder = Responder(QueuePair(qpn=1, remote_qpn=2, window=128), lambda *place: True)
    whole = Write(
        psn=3, msn=0, rqmsn=0, last=True, va=0, rkey=7, dmalen=1, payload=b"x", immediate=None,
        ack_request=False, resent=False, ev_index=9, sent_ns=5,
    )  # fmt: skip
    verdict, answers = responder.on_trimmed(whole, last_hop=last_hop)
    assert (verdict, answers) == (
        Verdict.TRIMMED,
        [Nack(psn=3, reason=reason, ev_index=9, sent_ns=5)],
    )
    assert responder.on_write(whole)[0] is Verdict.NEW
    verdict, (sack,) = responder.on_trimmed(whole, last_hop=last_hop)
    assert (verdict, sack.bitmap << sack.offset) == (Verdict.DUPLICATE, 1 << 4)
    beyond = Write(**vars(whole) | {"psn": 128})
    assert responder.on_trimmed(beyond, last_hop=last_hop) == (Verdict.BEYOND, [])


def test_refused_access_ends_the_queue_pair():
    channel = Channel()
    transfer(channel, [256, 256, 256], rkey=8)
    assert channel.requester.completions == [
        (0, "REMOTE_ACCESS"),
        (1, "FLUSHED"),
        (2, "FLUSHED"),
    ]
    assert not channel.memory


def test_nothing_answers():
    channel = Channel(lose=lambda item, n: True, rto_ns=10_000)
    transfer(channel, [256, 256])
    assert channel.requester.completions == [(0, "RETRY_EXCEEDED"), (1, "FLUSHED")]
