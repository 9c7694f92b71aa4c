"""From links that are masked to EVs that are."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import SITE_BITS, MaskedEvs, MaskedLink, PeerWrite, site_of

__all__ = ["LinkMasker"]


class LinkMasker(wiring.Component):
    """Keep a mask for each QP of those EVs that take a masked link.

    When a link begins to be masked, the masks of all QPs get its EVs, one QP per cycle and 4
    cycles more. In all other cases, that is when a link works again, or a row of an EV or a QP
    was written, all masks are made anew, one link of one QP per cycle, or one QP per cycle if no
    link is masked; a link that begins meanwhile goes before that. After reset they are cleared.

    A mask read in the cycle in which it is written is one that nobody may rely on. That does no
    harm: EVs that are picked come from their states, whatever the mask.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    peer_write : ``In(PeerWrite(config))``
        Rows of QPs.
    links : ``In(MaskedLink(config)).array(LINKS)``
        Links.
    begins, begins_link : ``In(1)``, ``In(range(LINKS))``
        One has begun to be masked.
    changes : ``In(1)``
        Something else has changed.
    profile, uplink, evs : ``Out``, ``Out``, ``In(evs_per_plane).array(lanes)``
        Read port of the :class:`~.link_map.LinkMap`.
    valid : ``In(evs_per_plane).array(lanes)``
        With ``evs``: all EVs of the profile.
    qp : ``In``
        Whose mask to read.
    masked : ``Out(MaskedEvs(config)).array(lanes)``
        Masks read, a cycle later.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        evs = config.evs_per_plane
        super().__init__({
            "peer_write": In(PeerWrite(config)),
            "links": In(MaskedLink(config)).array(LINKS),
            "begins": In(1),
            "begins_link": In(range(LINKS)),
            "changes": In(1),
            "profile": Out(index_bits(config.profiles)),
            "uplink": Out(index_bits(config.uplinks)),
            "evs": In(evs).array(config.lanes),
            "valid": In(evs).array(config.lanes),
            "qp": In(index_bits(config.qps)),
            "masked": Out(MaskedEvs(config)).array(config.lanes),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        stage = data.StructLayout({
            "valid": 1,
            "qp": index_bits(config.qps),
            "link": range(LINKS),
            "adds": 1,  # to what the mask was
            "first": 1,  # of this QP
            "last": 1,
        })
        stages = [Signal(stage, name=f"stage_{n}") for n in range(4)]
        for before, after in pairwise(stages):
            m.d.sync += after.eq(before)
        self._walk(m, stages)

        # First cycle: who it is. Second: which EVs take the link. Third: the mask.
        info = data.StructLayout({
            "named": 1,
            "site": SITE_BITS,
            "profile": index_bits(config.profiles),
        })
        m.submodules.infos = infos = DeepMemory(info, depth=config.qps)
        named, site = site_of(m, self.peer_write.row)
        m.d.comb += [
            infos.write.valid.eq(self.peer_write.valid),
            infos.write.row.eq(self.peer_write.qp),
            infos.write.data.profile.eq(self.peer_write.row.profile),
            infos.write.data.named.eq(named),
            infos.write.data.site.eq(site),
            infos.row[0].eq(stages[0].qp),
        ]
        known, whose = Signal(MaskedLink(config)), Signal(info)
        link = Signal(MaskedLink(config))
        with m.Switch(stages[1].link):
            for n in range(LINKS):
                with m.Case(n):
                    m.d.comb += link.eq(self.links[n])
        m.d.sync += [known.eq(link), whose.eq(infos.data[0])]
        m.d.comb += [self.profile.eq(infos.data[0].profile), self.uplink.eq(link.uplink)]
        matches = Signal()
        m.d.comb += matches.eq(
            known.masked & whose.named & (~known.single | (known.site == whose.site))
        )
        self._masks(m, stages, known, matches)

        return m

    def _masks(self, m, stages, known, matches):
        """Put masks together, and keep them."""
        config = self.config
        for p in range(config.lanes):
            m.submodules[f"masks_{p}"] = masks = DeepMemory(
                MaskedEvs(config), depth=config.qps, readers=2
            )
            kept, made = Signal(config.evs_per_plane), Signal(config.evs_per_plane)
            start, valid = Signal(config.evs_per_plane), Signal(config.evs_per_plane)
            m.d.sync += start.eq(Mux(stages[1].adds, masks.data[1].evs, 0))
            m.d.comb += made.eq(
                Mux(stages[2].first, start, kept)
                | Mux(matches & (known.plane == p), self.evs[p], 0)
            )
            m.d.sync += [kept.eq(made), valid.eq(self.valid[p])]
            m.d.comb += [
                masks.row[0].eq(self.qp),
                self.masked[p].eq(masks.data[0]),
                masks.row[1].eq(stages[0].qp),
                masks.write.valid.eq(stages[3].valid & stages[3].last),
                masks.write.row.eq(stages[3].qp),
                masks.write.data.evs.eq(kept),
                masks.write.data.all.eq(kept.any() & ~(valid & ~kept).any()),
            ]

    def _walk(self, m, stages):
        """Say what is looked at in this cycle."""
        config = self.config
        pending, anew = Signal(LINKS), Signal(init=1)
        qp, link = Signal(index_bits(config.qps)), Signal(range(LINKS))
        chosen = Signal(range(LINKS))
        for n in reversed(range(LINKS)):
            with m.If(pending[n]):
                m.d.comb += chosen.eq(n)
        none = ~Cat(link.masked for link in self.links).any()
        last_link, last_qp = Signal(), Signal()
        m.d.comb += last_link.eq(none | (link == LINKS - 1))
        m.d.comb += last_qp.eq(qp == config.qps - 1)
        empty = ~Cat(stage.valid for stage in stages[1:]).any()
        begun = Signal(LINKS)
        m.d.comb += begun.eq(Mux(self.begins, Const(1, LINKS) << self.begins_link, 0))
        m.d.sync += pending.eq(pending | begun)

        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += [qp.eq(0), link.eq(0)]
                with m.If(empty & pending.any()):
                    m.d.sync += link.eq(chosen)
                    m.d.sync += pending.eq((pending & ~(Const(1, LINKS) << chosen)) | begun)
                    m.next = "ADD"
                with m.Elif(empty & anew):
                    m.d.sync += anew.eq(0)
                    m.next = "ANEW"
            with m.State("ADD"):
                m.d.sync += qp.eq(qp + 1)
                with m.If(last_qp):
                    m.next = "IDLE"
            with m.State("ANEW"):
                m.d.sync += link.eq(Mux(last_link, 0, link + 1))
                with m.If(last_link):
                    m.d.sync += qp.eq(qp + 1)
                with m.If(pending.any()):
                    m.d.sync += anew.eq(1)  # from the beginning, when that is done
                    m.next = "IDLE"
                with m.Elif(last_link & last_qp):
                    m.next = "IDLE"
        with m.If(self.changes):
            m.d.sync += anew.eq(1)
        adds, makes = fsm.ongoing("ADD"), fsm.ongoing("ANEW")
        m.d.comb += [
            stages[0].valid.eq(adds | makes),
            stages[0].qp.eq(qp),
            stages[0].link.eq(link),
            stages[0].adds.eq(adds),
            stages[0].first.eq(adds | (link == 0)),
            stages[0].last.eq(adds | last_link),
        ]
