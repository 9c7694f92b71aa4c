"""A transfer: A writes messages into B's memory, across a fabric."""

import random
from collections import deque
from dataclasses import asdict
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Lock, RisingEdge, Timer, gather

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.driver.attributes import QpAttributes
from mrcnic.sim.driver.queues import SendQueue

from .deliveries import MARGIN, SOURCE, TARGET, UNTOUCHED, compare, cut
from .first_flight import FirstFlight, flight_packets
from .host import Host
from .mac import Mac, Macs
from .network import Network
from .observer import Observer
from .recorder import Recorder
from .register_writer import RegisterWriter
from .report import tell

__all__ = ["Transfer"]

#: News of the progress every so many cycles.
_NEWS_CYCLES = 2000

#: Clock of a 100 Gb/s MAC with 512-bit beats, 322.265625 MHz.
_MAC_PERIOD_PS = 3104

#: Most cycles for the end of packets whose message has ended: a transport ACK may overtake SACKs,
#: and if those are lost, only a probe or a time-out brings another.
_DRAIN_CYCLES = 100_000


class Transfer:
    """Two NICs, a fabric, and what A is to send.

    Parameters
    ----------
    dut
        Handle of the pair.
    spec : :class:`dict`
        A :class:`~mrcnic.sim.scenarios.transfer.TransferSpec`, with ``max_cycles`` and
        ``event_names``.
    """

    def __init__(self, dut, spec: dict):
        self.dut = dut
        self.spec = spec
        self.config = config = NicConfig(**spec["config"])
        self.period_ps = 10**12 // config.clk_hz
        self.network = network = Network(config, spec, spec["event_names"])
        self.flight = self._flight() if spec["first_flight"] else 0
        self.content = self._content()
        self.messages = cut(
            spec, len(self.content), mtu=network.mtu, flight=self.flight * network.mtu
        )
        self.statuses: dict[int, str] = {}
        self.ended_ps: dict[int, int] = {}
        self.withheld: set[int] = set()  # messages that are not posted, since time is over
        self.source = SOURCE + spec["skew"]
        last = self.messages[-1]
        self.region_octets = last.target + last.octets
        memory_octets = 1 << (TARGET + self.region_octets + MARGIN).bit_length()
        self.hosts = {
            side: Host(dut, side=side, config=config, memory_octets=memory_octets) for side in "ab"
        }
        rate = {"beat_octets": config.beat_octets, "rate_bps": network.rate_bps}
        # MACs that have a clock of their own run at that of 100 Gb/s Ethernet.
        self.macs = Macs(
            [Mac(dut, side=side, port=p, **rate) for side in "ab" for p in range(config.lanes)],
            network.fabric,
            clk=dut.mac_clk if config.crossing else dut.clk,
            period_ps=_MAC_PERIOD_PS if config.crossing else self.period_ps,
        )
        self.observer = Observer(self.macs, network, pcap=spec["pcap"], log=spec["log"])
        self.recorder = Recorder(self.hosts, self.macs, self.observer) if spec["log"] else None
        self.connections = []
        self._queues: dict[int, SendQueue] = {}
        self._closed: set[int] = set()  # connections that wait to be made anew
        self._tables = Lock()  # a row is written in steps, and nobody else may write one meanwhile
        self._names: dict[tuple[int, int], int] = {}  # QP and identifier to message

    def _flight(self) -> int:
        return flight_packets(
            self.config,
            qps=self.spec["qps"],
            mtu=self.network.mtu,
            cwnd=self.spec["cwnd"] or QpAttributes.cwnd,
            mpr=self.spec["mpr"] or self.config.window // 128,
        )

    def _content(self) -> bytes:
        spec = self.spec
        if spec["file"]:
            return Path(spec["file"]).read_bytes()
        octets = sum(spec["lengths"]) or spec["size"]
        octets += spec["qps"] * self.flight * self.network.mtu
        return random.Random(spec["seed"]).randbytes(octets)

    async def run(self) -> dict:
        """Do it all, and return what was found."""
        await self.start()
        spec, macs = self.spec, self.macs
        began_ps = macs.now_ps
        self.network.begin(began_ps)
        if self.recorder:
            self.recorder.begin(
                [one.sender.index for one in self.connections], sample_us=spec["sample_us"]
            )
        stalls = [
            cocotb.start_soon(_stall(self.hosts[side], first_us, last_us))
            for side, first_us, last_us in spec["stalls"]
        ]
        writers = self._start_writers()
        renewals = [cocotb.start_soon(self._renew(*one)) for one in spec["renewals"]]
        flights = len(self.connections) if self.flight else 0
        finished = await self._send(range(len(self.messages) - flights))
        ended_ps = macs.now_ps
        if finished:
            for renewal in renewals:
                await renewal
        for writer, task in writers:
            writer.stop()
            await task
        occupied = await self._drain() if finished else await self._occupied()
        shortfalls = []
        if flights and finished and not any(occupied.values()):
            for stall in stalls:
                await stall
            shortfalls = await self._fly(flights)
            occupied = await self._drain()
        counters = await self._counters()
        self.observer.close()
        self.network.fabric.close()
        span_ps = ended_ps - began_ps
        octets = len(self.content) - flights * self.flight * self.network.mtu
        octets -= sum(self.messages[n].octets for n in self.withheld)
        log = {"log": self.recorder.figures(began_ps=began_ps)} if self.recorder else {}
        return {
            **log,
            "octets": octets,
            "qps": len(self.connections),
            "finished": finished,
            "cycles": span_ps // self.period_ps,
            "total_cycles": macs.now_ps // self.period_ps,
            "simulated_us": span_ps / 1e6,
            "goodput_gbps": octets * 8e3 / span_ps,
            "occupied_slots": occupied,
            "shortfalls": shortfalls,
            "completed": [
                ((time_ps - began_ps) / 1e6, n, self.messages[n].qp, self.statuses[n])
                for n, time_ps in self.ended_ps.items()
            ],
            "counters": counters,
            "underruns": sum(mac.underruns for mac in macs.macs.values()),
            **compare(
                self.messages,
                self.statuses,
                self.content,
                withheld=self.withheld,
                source=self.source,
                hosts=self.hosts,
                receivers=[one.receiver.index for one in self.connections],
                model=self.network.scoreboard,
                renewed={qp for qp, _ in spec["renewals"]},
            ),
            **self.observer.figures(evs=self.config.evs, began_ps=began_ps),
        }

    async def start(self):
        """Start clocks and MACs, reset the design, and set both NICs up."""
        dut, hosts, macs = self.dut, self.hosts.values(), self.macs
        dut.rst.value = 1
        for host in hosts:
            host.reset()
        for mac in macs.macs.values():
            mac.reset()
        Clock(dut.clk, self.period_ps, unit="ps").start(start_high=False)
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
            host.fill(UNTOUCHED)
        self.hosts["a"].memory.write(self.source, self.content)
        self.connections = await self.network.configure(
            self.hosts, target=TARGET, octets=self.region_octets, content=UNTOUCHED
        )
        self._queues = {one.sender.index: one.sender.queue for one in self.connections}
        # Never a QP, if some message is to go there.
        absent = max(self._queues) + 1
        spoiled = len(self.spec["spoiled"])
        self._queues[absent] = SendQueue(absent, mtu=self.network.mtu, depth=spoiled)

    def _start_writers(self) -> list:
        spec = self.spec
        started = []
        for name, nic in self.network.nics.items():
            writer = RegisterWriter(
                nic,
                self.config,
                seed=f"{name} {spec['seed']}",
                qps=spec["qps"],
                tables=self._tables,
            )
            started.append((writer, cocotb.start_soon(writer.write(spec["register_writes"]))))
        return started

    # ---- traffic ---------------------------------------------------------------------------------

    async def _send(self, numbers: range) -> bool:
        """Post messages, as fast as the send queues allow; return whether they have ended.

        After ``until_us`` no more are posted.
        """
        a, macs = self.hosts["a"], self.macs
        waiting = [deque() for _ in self.connections]
        for n in numbers:
            waiting[self.messages[n].qp].append(n)
        end = macs.cycles + self.spec["max_cycles"]
        next_news = macs.cycles
        until_us = self.spec["until_us"]
        until_ps = float("inf") if until_us is None else macs.now_ps + until_us * 1e6
        while (self._names or any(waiting)) and macs.cycles < end:
            posted = False
            if macs.now_ps > until_ps:
                for left in waiting:
                    self.withheld.update(left)
                    left.clear()
            for k, left in enumerate(waiting):
                connection = self.connections[k]
                if left and k not in self._closed and connection.sender.queue.has_room:
                    await self._post(left.popleft(), connection)
                    posted = True
            while a.completed:
                completion = a.completed.popleft()
                self._queues[completion.qp].complete(completion.identifier)
                n = self._names.pop((completion.qp, completion.identifier))
                self.statuses[n] = completion.status.name
                self.ended_ps[n] = macs.now_ps
            if macs.cycles >= next_news:
                next_news = macs.cycles + _NEWS_CYCLES
                octets = sum(self.messages[n].octets for n in self.statuses)
                tell(octets=octets, cycles=macs.cycles)
            if not posted:
                await RisingEdge(a.clk)
        await ClockCycles(a.clk, 50)
        return not self._names and not any(waiting)

    async def _post(self, n: int, connection):
        message, what = self.messages[n], dict(self.spec["spoiled"]).get(n)
        queue = connection.sender.queue
        if what == "qp":
            queue = self._queues[max(self._queues)]
        request = queue.post(
            local_address=self.source + message.start,
            remote_address=TARGET + message.target + (1 << 40 if what == "address" else 0),
            rkey=connection.rkey ^ (what == "rkey"),
            octets=message.octets,
            immediate=message.immediate,
        )
        self._names[request.qp, request.identifier] = n
        await self.hosts["a"].work.send(**asdict(request))

    async def _renew(self, k: int, time_us: float):
        """Destroy both ends of a connection at a time from now, and make them anew."""
        await Timer(round(time_us * 1000), "ns")
        self._closed.add(k)
        before = self.connections[k]
        async with self._tables:
            await self.network.disconnect(before)
        while not before.sender.queue.is_empty:
            await RisingEdge(self.hosts["a"].clk)
        async with self._tables:
            self.connections[k] = now = await self.network.reconnect(before)
        self._queues[now.sender.index] = now.sender.queue
        self._closed.discard(k)

    async def _fly(self, flights: int) -> list[str]:
        """Let each QP send a window more, in peace; return what is wrong with that."""
        self.network.misfortune.stop()
        is_calm = self.macs.now_ps >= self.network.calm_ps
        self.observer.watcher = watcher = FirstFlight(self.flight)
        for one in self.connections:
            qpn, remote_qpn = one.sender.attributes.qpn, one.receiver.attributes.qpn
            watcher.add(qpn, remote_qpn=remote_qpn)
        count = len(self.messages)
        if not await self._send(range(count - flights, count)):
            return ["messages that follow in peace do not end"]
        # A port that fails in the middle has packets sent later, and no credit lost.
        return watcher.shortfalls if is_calm else []

    async def _drain(self) -> dict[str, int]:
        """Wait until what has ended is acknowledged too; return how many slots are in use then."""
        end = self.macs.cycles + _DRAIN_CYCLES
        while any((occupied := await self._occupied()).values()) and self.macs.cycles < end:
            pass
        return occupied

    async def _occupied(self) -> dict[str, int]:
        nics = self.network.nics
        return {name: await nic.read("occupied_slots") for name, nic in nics.items()}

    async def _counters(self) -> dict[str, dict[str, int]]:
        nics = self.network.nics
        found = await gather(*(nic.counters() for nic in nics.values()))
        return dict(zip(nics, found, strict=True))


async def _stall(host: Host, first_us: float, last_us: float):
    """Stop a host's memory for a while; the times count from now."""
    await Timer(round(first_us * 1000), "ns")
    host.stall()
    await Timer(round((last_us - first_us) * 1000), "ns")
    host.stall(False)
