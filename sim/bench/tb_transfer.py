"""Bench: A writes a file into B's memory, across a fabric."""

import hashlib
import random
from collections import deque
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.driver.queues import SendQueue

from .host import Host
from .mac import Mac, Macs
from .network import Network
from .observer import Observer
from .report import read_spec, tell, tell_result

__all__ = ["transfer"]

#: Where the file lies in A's memory, and where it goes in B's.
SOURCE, TARGET = 0x1_0000, 0x2_0000

#: Guard octets behind the target, which nobody may touch.
GUARD = b"\xa5" * 4096

#: News of the progress every so many cycles.
_NEWS_CYCLES = 2000

#: Clock of a 100 Gb/s MAC with 512-bit beats, 322.265625 MHz.
_MAC_PERIOD_PS = 3104

#: Most cycles for the end of packets whose message has ended: a transport ACK may overtake SACKs,
#: and if those are lost, only a probe or a time-out brings another.
_DRAIN_CYCLES = 100_000


@cocotb.test()
async def transfer(dut):
    """Send the file that the specification names, and compare what arrives."""
    spec = read_spec()
    config = NicConfig(**spec["config"])
    content = Path(spec["file"]).read_bytes() if spec["file"] else seeded(spec)
    period_ps = 10**12 // config.clk_hz
    source = SOURCE + spec["skew"]
    memory_octets = 1 << (TARGET + len(content) + len(GUARD)).bit_length()

    hosts = {
        side: Host(dut, side=side, config=config, memory_octets=memory_octets) for side in "ab"
    }
    a, b = hosts["a"], hosts["b"]
    network = Network(config, spec, spec["event_names"])
    # MACs that have a clock of their own run at that of 100 Gb/s Ethernet with 512-bit beats.
    mac_period_ps = _MAC_PERIOD_PS if config.crossing else period_ps
    macs = Macs(
        [
            Mac(dut, side=side, port=p, beat_octets=config.beat_octets, rate_bps=network.rate_bps)
            for side in "ab"
            for p in range(config.lanes)
        ],
        network.fabric,
        clk=dut.mac_clk if config.crossing else dut.clk,
        period_ps=mac_period_ps,
    )
    observer = Observer(macs, network, pcap=spec["pcap"])
    await start(dut, hosts.values(), macs, period_ps)
    connections = await network.configure(hosts, target=TARGET, octets=len(content))

    a.memory.write(source, content)
    b.memory.write(TARGET, bytes(len(content)) + GUARD)
    requests = split(
        spec["lengths"] or message_lengths(len(content), qps=len(connections), mtu=network.mtu),
        qps=len(connections),
    )
    began_ps = macs.now_ps
    network.begin(began_ps)
    for side, first_us, last_us in spec["stalls"]:
        cocotb.start_soon(stall(hosts[side], first_us, last_us))
    outcome = await send_all(
        a, b, connections, requests, macs, spoiled=dict(spec["spoiled"]), source=source,
        limit=spec["max_cycles"],
    )  # fmt: skip
    ended_ps = macs.now_ps
    occupied = await drain(network, macs, limit=_DRAIN_CYCLES if outcome["finished"] else 0)
    counters = {name: await nic.counters() for name, nic in network.nics.items()}
    observer.close()
    network.fabric.close()

    arrived = bytes(b.memory.read(TARGET, len(content)))
    span_ps = ended_ps - began_ps
    expected = network.scoreboard
    result = {
        "octets": len(content),
        "qps": len(connections),
        "cycles": span_ps // period_ps,
        "total_cycles": macs.now_ps // period_ps,
        "simulated_us": span_ps / 1e6,
        "goodput_gbps": len(content) * 8e3 / span_ps,
        "sha256_sent": hashlib.sha256(content).hexdigest(),
        "sha256_received": hashlib.sha256(arrived).hexdigest(),
        "memory_as_modelled": arrived == bytes(expected.memory),
        "guard_intact": bytes(b.memory.read(TARGET + len(content), len(GUARD))) == GUARD,
        "immediates_as_modelled": sorted((i.immediate, i.octets) for i in b.immediates)
        == sorted(expected.immediates),
        "verdicts": dict(expected.verdicts),
        "underruns": sum(mac.underruns for mac in macs.macs.values()),
        "occupied_slots": occupied,
        "counters": counters,
        **outcome,
        **observer.figures(evs=config.evs, began_ps=began_ps),
    }
    tell_result(result)


def seeded(spec: dict) -> bytes:
    """Return the content that the seed gives."""
    return random.Random(spec["seed"]).randbytes(sum(spec["lengths"]) or spec["size"])


async def start(dut, hosts, macs: Macs, period_ps: int):
    """Start the clock and the MACs, and reset the design."""
    dut.rst.value = 1
    for host in hosts:
        host.reset()
    for mac in macs.macs.values():
        mac.reset()
    Clock(dut.clk, period_ps, unit="ps").start(start_high=False)
    if macs.clk is not dut.clk:
        dut.mac_rst.value = 1
        Clock(macs.clk, macs.period_ps, unit="ps").start(start_high=False)
        await ClockCycles(macs.clk, 4)
        dut.mac_rst.value = 0
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    cocotb.start_soon(macs.run())
    for host in hosts:
        cocotb.start_soon(host.collect_completions())
        cocotb.start_soon(host.collect_immediates())


def message_lengths(octets: int, *, qps: int, mtu: int) -> list[int]:
    """Cut the content into messages of up to 16 packets."""
    size = max(1, min(16 * mtu, -(-octets // qps)))
    return [min(size, octets - start) for start in range(0, octets, size)]


def split(lengths: list[int], *, qps: int) -> list[tuple[int, int, int]]:
    """Return QP, offset and length of each message; the QPs take turns."""
    starts = accumulate(lengths, initial=0)
    return [
        (n % qps, start, octets)
        for n, (start, octets) in enumerate(zip(starts, lengths, strict=False))
    ]


async def stall(host: Host, first_us: float, last_us: float):
    """Stop a host's memory for a while; the times count from now."""
    await Timer(round(first_us * 1000), "ns")
    host.stall()
    await Timer(round((last_us - first_us) * 1000), "ns")
    host.stall(False)


async def drain(network: Network, macs: Macs, *, limit: int) -> dict[str, int]:
    """Wait until what has ended is acknowledged too; return how many slots are still in use."""
    end = macs.cycles + limit
    while True:
        occupied = {name: await nic.read("occupied_slots") for name, nic in network.nics.items()}
        if not any(occupied.values()) or macs.cycles >= end:
            return occupied


async def send_all(
    a, b, connections, requests, macs, *, spoiled: dict[int, str], source: int, limit: int
) -> dict:
    """Post every request, as fast as the send queues allow, and wait until all have ended."""
    waiting = [deque() for _ in connections]
    for n, (qp, _, _) in enumerate(requests):
        waiting[qp].append(n)
    last_of_qp = [queue[-1] for queue in waiting if queue]
    queues = {connection.sender.index: connection.sender.queue for connection in connections}
    absent = max(queues) + 1  # never a QP, if some message is to go there
    queues[absent] = SendQueue(absent, mtu=queues[absent - 1].mtu, depth=len(spoiled))
    names: dict[tuple[int, int], int] = {}  # QP and identifier to request
    statuses: dict[int, str] = {}
    end = macs.cycles + limit
    next_news = macs.cycles
    octets_done = 0
    while len(statuses) < len(requests) and macs.cycles < end:
        posted = False
        for k, connection in enumerate(connections):
            queue = connection.sender.queue
            if waiting[k] and queue.has_room:
                n = waiting[k].popleft()
                _, offset, octets = requests[n]
                what = spoiled.get(n)
                if what == "qp":
                    queue = queues[absent]
                request = queue.post(
                    local_address=source + offset,
                    remote_address=TARGET + offset + (1 << 40 if what == "address" else 0),
                    rkey=connection.rkey ^ (what == "rkey"),
                    octets=octets,
                    immediate=n if n in last_of_qp else None,
                )
                names[request.qp, request.identifier] = n
                await a.work.send(**asdict(request))
                posted = True
        while a.completed:
            completion = a.completed.popleft()
            queues[completion.qp].complete(completion.identifier)
            n = names.pop((completion.qp, completion.identifier))
            statuses[n] = completion.status.name
            octets_done += requests[n][2]
        if macs.cycles >= next_news:
            next_news = macs.cycles + _NEWS_CYCLES
            tell(octets=octets_done, cycles=macs.cycles)
        if not posted:
            await RisingEdge(a.clk)
    await ClockCycles(a.clk, 50)
    return {
        "finished": len(statuses) == len(requests),
        "failed": sorted({status for status in statuses.values() if status != "OK"}),
        "messages": len(requests),
        "statuses": [statuses.get(n) for n in range(len(requests))],
        "immediates_complete": sorted(i.immediate for i in b.immediates) == sorted(last_of_qp),
    }
