"""Packets for tests of fabrics, as NICs would send them."""

from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.outer import Ethernet
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.fabric.topology import default_topology

__all__ = ["FOREVER", "TOPOLOGY", "US", "A", "B", "packet", "send"]

TOPOLOGY = default_topology()
A, B = TOPOLOGY.hosts
US = 10**6
FOREVER = 10**12


def packet(psn=0, *, ev=0xC0000010, source=A, destination=B, srv6=True, topology=TOPOLOGY, size=64):
    """Return a packet from host to host, as its NIC would send it."""
    plane = EvFields.unpack(ev).plane
    one = Packet(
        opcode=0xCA,
        source=source.address,
        destination=destination.address,
        ev=ev,
        dqp=0x12,
        psn=psn,
        extensions={"meth": {}, "tseth": {"ftype": 1}, "reth": {}},
        payload=bytes(size),
        ethernet=Ethernet(
            destination=topology.next_hop_mac(source, plane), source=topology.mac(source, plane)
        ),
    )
    if srv6:
        carrier = topology.template(source, destination).expand(ev)
        one = one.encapsulated(topology.underlay(source, plane), carrier)
    return one


def send(fabric, psn=0, time_ps=0, **how):
    one = packet(psn, **how)
    plane = EvFields.unpack(one.ev).plane
    fabric.send(f"{how.get('source', A).name}{plane}", one.encode(), time_ps)
    return one
