-- Wireshark dissector of MRC (Multipath Reliable Connection), profile MRC-A1: docs/protocol.md.
--
-- Use:  tshark -X lua_script:mrc.lua -r capture.pcapng
-- or put this file in the folder that "About Wireshark, Folders, Personal Lua Plugins" names.
-- It runs on Lua 5.2 (Wireshark up to 4.2) and 5.4. Fields are called mrc.<header>.<field>, by the
-- names in hdl/wire/headers.py. Other opcodes than MRC's on the same UDP ports stay with Wireshark's
-- own RoCE dissector.

local mrc = Proto("mrc", "Multipath Reliable Connection")

local ICRC_OCTETS = 4
local UDP_OCTETS = 8
local PORTS = {4791, 4971}

-- Operators on bits: a library in Lua 5.2, and since 5.3 syntax, which 5.2 must not even see.
local bits = bit32 or load([[return {
  band = function(a, b) return a & b end,
  bor = function(a, b) return a | b end,
  bxor = function(a, b) return a ~ b end,
  rshift = function(a, n) return a >> n end,
}]])()

-- ---- names of values ---------------------------------------------------------------------------

local OPCODES = {
  [0xC6] = "WRITE_FIRST", [0xC7] = "WRITE_MIDDLE", [0xC8] = "WRITE_LAST",
  [0xC9] = "WRITE_LAST_IMM", [0xCA] = "WRITE_ONLY", [0xCB] = "WRITE_ONLY_IMM",
  [0xD1] = "ACK", [0xD8] = "ENDPOINT_REQUEST", [0xD9] = "ENDPOINT_RESPONSE",
  [0xDC] = "SACK", [0xDD] = "NACK", [0xDE] = "PROBE",
}

local REASONS = {
  [0x01] = "TRIMMED", [0x02] = "TRIMMED_LASTHOP", [0x06] = "NO_BITMAP", [0x07] = "NO_BUFFER",
  [0x0A] = "NO_RESOURCE", [0x0B] = "OUT_OF_WINDOW", [0x19] = "UNEXPECTED",
}

local SYNDROMES = {
  [0x1F] = "ACK", [0x61] = "NAK_INVALID_REQUEST", [0x62] = "NAK_ACCESS", [0x63] = "NAK_OPERATIONAL",
}

local MARKS = {[0] = "none", [1] = "skip once", [2] = "always skip"}
local OPERATIONS = {[0] = "port status", [1] = "EV probe"}
local STATUS = {[0] = "Bad", [1] = "Good", [2] = "Unverified"}

-- ---- headers: fields in wire order, each with its width in bits --------------------------------

local HEADERS = {
  bth = {
    {"opcode", 8}, {"solicited", 1}, {"migration", 1}, {"pad", 2}, {"tver", 4}, {"p_key", 16},
    {"variant_reserved", 8}, {"dqp", 24}, {"ack_request", 1}, {"reserved", 1},
    {"retransmission", 1}, {"timestamped", 1}, {"invariant_reserved", 4}, {"psn", 24},
  },
  meth = {{"rqmsn", 16}, {"msn", 16}},
  tseth = {{"tx_timestamp", 16}, {"resolution", 1}, {"reserved", 11}, {"ftype", 4}},
  reth = {{"va", 64}, {"rkey", 32}, {"dmalen", 32}},
  immdt = {{"immediate", 32}},
  seth = {
    {"kind", 4}, {"next_header", 5}, {"mark", 2}, {"reserved_1", 3}, {"probe_reply", 1},
    {"reserved_2", 1}, {"ack_psn_offset", 16}, {"entropy", 32}, {"spdcid", 16}, {"dpdcid", 16},
    {"reserved_3", 8}, {"cack_psn", 24}, {"cc_type", 4}, {"cc_flags", 4}, {"mpr", 8},
    {"sack_offset", 16}, {"sack_bitmap", 64},
  },
  cc_state = {
    {"tx_timestamp", 16}, {"reserved_1", 1}, {"ooo_count", 15}, {"restore_cwnd", 1},
    {"rcv_cwnd_pen", 7}, {"rcvd_bytes", 24},
  },
  neth = {
    {"reserved_1", 16}, {"reason", 8}, {"vendor_info", 8}, {"entropy", 32}, {"spdcid", 16},
    {"dpdcid", 16}, {"reserved_2", 8}, {"nack_psn", 24}, {"cc_type", 4}, {"cc_flags", 4},
    {"reserved_3", 8}, {"tx_timestamp", 16},
  },
  peth = {
    {"reserved_1", 24}, {"vendor_info", 8}, {"probe_id", 16}, {"reserved_2", 16}, {"spdcid", 16},
    {"dpdcid", 16}, {"tx_timestamp", 16}, {"resolution", 1}, {"reserved_3", 11}, {"ftype", 4},
  },
  erth = {
    {"reserved_1", 14}, {"operation", 2}, {"reserved_2", 8}, {"vendor_info", 8},
    {"port_status_mask", 32}, {"reserved_3", 32}, {"tx_timestamp", 16}, {"resolution", 1},
    {"reserved_4", 11}, {"ftype", 4},
  },
  eeth = {
    {"reserved_1", 12}, {"operation", 2}, {"reserved_2", 2}, {"reserved_3", 208},
    {"tx_timestamp", 16}, {"reserved_4", 48},
  },
  aeth = {{"syndrome", 8}, {"msn", 24}},
  icrc = {{"crc", 32}},
}

-- Values that have a name, or may only be some; a name that is missing is a value that is wrong.
local NAMES = {
  ["bth.opcode"] = OPCODES, ["neth.reason"] = REASONS, ["aeth.syndrome"] = SYNDROMES,
  ["seth.mark"] = MARKS, ["erth.operation"] = OPERATIONS, ["eeth.operation"] = OPERATIONS,
  ["tseth.ftype"] = {[1] = "timestamp"}, ["peth.ftype"] = {[1] = "timestamp"},
  ["erth.ftype"] = {[1] = "timestamp"},
}

-- Numbers that are counted with, and so shown as decimal ones.
local DECIMAL = {
  rqmsn = true, msn = true, tx_timestamp = true, dmalen = true, ack_psn_offset = true,
  sack_offset = true, ooo_count = true, rcv_cwnd_pen = true, rcvd_bytes = true, mpr = true,
}

-- 16-bit fields with a sign.
local SIGNED = {ack_psn_offset = true, sack_offset = true}

local function is_write(opcode) return opcode >= 0xC6 and opcode <= 0xCB end

-- Names of the headers behind the BTH.
local function extensions(opcode, timestamped)
  local control = {
    [0xD1] = {"aeth"}, [0xD8] = {"erth"}, [0xD9] = {"eeth"}, [0xDC] = {"seth", "cc_state"},
    [0xDD] = {"neth"}, [0xDE] = {"peth"},
  }
  if not is_write(opcode) then return control[opcode] end
  local names = {"meth"}
  if timestamped then names[#names + 1] = "tseth" end
  names[#names + 1] = "reth"
  if opcode == 0xC9 or opcode == 0xCB then names[#names + 1] = "immdt" end
  return names
end

local function octets_of(name)
  local sum = 0
  for _, field in ipairs(HEADERS[name]) do sum = sum + field[2] end
  return math.floor(sum / 8)
end

-- ---- what Wireshark is told of -----------------------------------------------------------------

mrc.prefs.swap_ev = Pref.bool(
  "EV halves swapped", false, "The lower half of an EV is in the UDP source port")
mrc.prefs.p_key = Pref.uint("Partition key", 0xFFFF, "The only one that is right")
mrc.prefs.trimmed = Pref.uint("DSCP of trimmed packets", 16, "Cut by a switch in the fabric")
mrc.prefs.trimmed_last_hop = Pref.uint(
  "DSCP of packets trimmed at the last hop", 18, "Cut by the switch in front of the receiver")

-- ProtoField of each field, by "header.field".
local fields = {}

local function proto_field(header, name, width)
  local path, label = "mrc." .. header .. "." .. name, name:gsub("_", " ")
  local names, shown = NAMES[header .. "." .. name], base.HEX
  if width <= 4 or DECIMAL[name] then shown = base.DEC end
  if width > 64 then return ProtoField.bytes(path, label) end
  if width > 32 then return ProtoField.uint64(path, label, base.HEX) end
  local make = width > 24 and ProtoField.uint32 or width > 16 and ProtoField.uint24
    or width > 8 and ProtoField.uint16 or ProtoField.uint8
  return make(path, label, shown, names)
end

local all = {}
for header, layout in pairs(HEADERS) do
  for _, field in ipairs(layout) do
    local name = header .. "." .. field[1]
    fields[name] = proto_field(header, field[1], field[2])
    all[#all + 1] = fields[name]
  end
end

local function other(name, field)
  fields[name] = field
  all[#all + 1] = field
end

other("udp.source_port", ProtoField.uint16("mrc.udp.source_port", "source port", base.DEC))
other("udp.destination_port", ProtoField.uint16(
  "mrc.udp.destination_port", "destination port", base.DEC))
other("udp.length", ProtoField.uint16("mrc.udp.length", "length, of before the cut", base.DEC))
other("ev", ProtoField.uint32("mrc.ev", "entropy value", base.HEX))
other("ev.index", ProtoField.uint8("mrc.ev.index", "index in the profile", base.DEC))
other("ev.plane", ProtoField.uint8("mrc.ev.plane", "plane", base.DEC))
other("ev.uplink", ProtoField.uint8("mrc.ev.uplink", "uplink", base.DEC))
other("ce", ProtoField.bool("mrc.ce", "congestion on the way"))
other("trimmed", ProtoField.bool("mrc.trimmed", "trimmed by a switch"))
other("payload", ProtoField.bytes("mrc.payload", "payload"))
other("padding", ProtoField.bytes("mrc.padding", "padding"))
other("rest", ProtoField.bytes("mrc.rest", "further octets"))
other("icrc.status", ProtoField.uint8("mrc.icrc.status", "status", base.DEC, STATUS))
other("icrc.expected", ProtoField.uint32("mrc.icrc.expected", "expected", base.HEX))
mrc.fields = all

-- Why a packet is not accepted, by the names that the NIC's counters have; and values without one.
local function complaint(name, text, group)
  return ProtoExpert.new("mrc." .. name, text, group, expert.severity.ERROR)
end

local experts = {
  bad_length = complaint("bad_length", "lengths do not agree", expert.group.PROTOCOL),
  bad_tver = complaint("bad_tver", "transport version is not 0", expert.group.PROTOCOL),
  bad_pkey = complaint("bad_pkey", "partition key is not ours", expert.group.PROTOCOL),
  bad_opcode = complaint("bad_opcode", "opcode is not one of MRC", expert.group.PROTOCOL),
  bad_pad = complaint("bad_pad", "pad does not go with the payload", expert.group.PROTOCOL),
  icrc_error = complaint("icrc_error", "ICRC does not match", expert.group.CHECKSUM),
  bad_value = ProtoExpert.new(
    "mrc.bad_value", "value has no meaning", expert.group.PROTOCOL, expert.severity.WARN),
  malformed = complaint("malformed", "malformed packet", expert.group.MALFORMED),
  cut = ProtoExpert.new(
    "mrc.cut", "not all was captured", expert.group.PROTOCOL, expert.severity.NOTE),
}
mrc.experts = {
  experts.bad_length, experts.bad_tver, experts.bad_pkey, experts.bad_opcode, experts.bad_pad,
  experts.icrc_error, experts.bad_value, experts.malformed, experts.cut,
}

-- Headers below, wherever they lie: behind VLAN tags, in IPv6, behind a routing header.
local found_ip, found_ipv6, found_udp = Field.new("ip"), Field.new("ipv6"), Field.new("udp")

-- ---- ICRC --------------------------------------------------------------------------------------

local CRC_TABLE = {}
for n = 0, 255 do
  local crc = n
  for _ = 1, 8 do
    local shifted = bits.rshift(crc, 1)
    crc = bits.band(crc, 1) == 1 and bits.bxor(shifted, 0xEDB88320) or shifted
  end
  CRC_TABLE[n] = crc
end

local function crc_over(crc, octets)
  for n = 1, #octets do
    local low = bits.band(bits.bxor(crc, octets:byte(n)), 0xFF)
    crc = bits.bxor(bits.rshift(crc, 8), CRC_TABLE[low])
  end
  return crc
end

-- Return the octets with ones where masks says so: by place, counted from 0.
local function with_ones(octets, masks)
  local list = {octets:byte(1, -1)}
  for place, mask in pairs(masks) do list[place + 1] = bits.bor(list[place + 1], mask) end
  return string.char((table.unpack or unpack)(list))
end

-- Return the ICRC, as the number that its octets on the wire spell.
local function icrc_of(packet, body)
  local ip = packet.version == 6 and {[0] = 0x0F, [1] = 0xFF, [2] = 0xFF, [3] = 0xFF, [7] = 0xFF}
    or {[1] = 0xFF, [8] = 0xFF, [10] = 0xFF, [11] = 0xFF}
  local crc = crc_over(0xFFFFFFFF, string.rep("\255", 8))
  crc = crc_over(crc, with_ones(packet.ip, ip))
  crc = crc_over(crc, with_ones(packet.udp, {[6] = 0xFF, [7] = 0xFF}))
  crc = crc_over(crc, with_ones(body:sub(1, 12), {[4] = 0xFF}))
  crc = bits.bxor(crc_over(crc, body:sub(13)), 0xFFFFFFFF)
  local number = 0
  for n = 0, 3 do number = number * 256 + bits.band(bits.rshift(crc, 8 * n), 0xFF) end
  return number
end

-- ---- headers below -----------------------------------------------------------------------------

local function number_at(octets, place, count)
  local number = 0
  for n = place + 1, place + count do number = number * 256 + octets:byte(n) end
  return number
end

-- Return all IP headers of the frame, the outermost first, each with its version and octets.
local function ip_headers()
  local list = {}
  for version, found in pairs({[4] = {found_ip()}, [6] = {found_ipv6()}}) do
    for _, info in ipairs(found) do
      local octets = info.source:raw(info.offset, version == 6 and 40 or 20)
      list[#list + 1] = {version = version, octets = octets, offset = info.offset}
    end
  end
  table.sort(list, function(a, b) return a.offset < b.offset end)
  return list
end

local function traffic_class(header)
  local class = header.octets:byte(2)
  if header.version == 6 then
    class = bits.band(number_at(header.octets, 0, 2), 0x0FF0) / 16
  end
  return class
end

-- Return what the headers below say, given the octets of the UDP header.
local function below(udp)
  local list = ip_headers()
  local first, inner = list[1], list[#list]
  if not inner then return nil end
  local dscp = math.floor(traffic_class(first) / 4)
  local ce = false
  for _, header in ipairs(list) do ce = ce or traffic_class(header) % 4 == 3 end
  local upper, lower = number_at(udp, 0, 2), 0
  if inner.version == 6 then lower = number_at(inner.octets, 2, 2) end
  if mrc.prefs.swap_ev then upper, lower = lower, upper end
  return {
    version = inner.version,
    ip = inner.octets,
    udp = udp,
    ip_payload = inner.version == 6 and number_at(inner.octets, 4, 2)
      or number_at(inner.octets, 2, 2) - 20,
    ev = upper * 65536 + lower,
    ce = ce,
    trimmed = dscp == mrc.prefs.trimmed or dscp == mrc.prefs.trimmed_last_hop,
  }
end

-- ---- packets -----------------------------------------------------------------------------------

-- Add one field, which starts at a bit of its header; return its value, unless it is too wide.
local function add_field(tree, range, name, bit, width)
  local first, last = math.floor(bit / 8), math.floor((bit + width - 1) / 8)
  local part = range:range(first, last - first + 1)
  if width > 64 then
    tree:add(fields[name], part)
    return nil
  end
  local value = part:bitfield(bit % 8, width)
  local item = tree:add(fields[name], part, value)
  local short = name:match("%.(.*)")
  if SIGNED[short] and value >= 0x8000 then
    item:append_text(string.format(" (%d)", value - 0x10000))
  end
  local names = NAMES[name]
  if names and not names[value] then
    item:add_proto_expert_info(name == "bth.opcode" and experts.bad_opcode or experts.bad_value)
  end
  return value
end

-- Add a header; return its values by name.
local function add_header(tree, range, header)
  local branch = tree:add(mrc, range, header:upper())
  local values, bit = {}, 0
  for _, field in ipairs(HEADERS[header]) do
    values[field[1]] = add_field(branch, range, header .. "." .. field[1], bit, field[2])
    bit = bit + field[2]
  end
  return values, branch
end

-- Say that the packet ends too early: it does, or only what was captured of it.
local function too_short(tree, tvb)
  tree:add_proto_expert_info(tvb:len() < tvb:reported_len() and experts.cut or experts.bad_length)
end

local function add_path(tree, packet)
  tree:add(fields["ce"], packet.ce):set_generated()
  local item = tree:add(fields["ev"], packet.ev):set_generated()
  item:add(fields["ev.index"], math.floor(packet.ev / 2 ^ 16) % 256):set_generated()
  item:add(fields["ev.plane"], math.floor(packet.ev / 2 ^ 12) % 16):set_generated()
  item:add(fields["ev.uplink"], math.floor(packet.ev / 2 ^ 4) % 256):set_generated()
end

-- Check what the BTH says by itself.
local function check_bth(branch, bth)
  if bth.tver ~= 0 then branch:add_proto_expert_info(experts.bad_tver) end
  if bth.p_key ~= mrc.prefs.p_key then branch:add_proto_expert_info(experts.bad_pkey) end
end

local function add_icrc(tree, tvb, packet)
  local at = tvb:len() - ICRC_OCTETS
  local values, branch = add_header(tree, tvb:range(at), "icrc")
  if not packet then
    branch:add(fields["icrc.status"], 2):set_generated()
    return
  end
  local expected = icrc_of(packet, tvb:raw(0, at))
  local good = values.crc == expected
  branch:add(fields["icrc.expected"], expected):set_generated()
  branch:add(fields["icrc.status"], good and 1 or 0):set_generated()
  if not good then branch:add_proto_expert_info(experts.icrc_error) end
end

-- Add payload, padding and ICRC, which start at a place.
local function add_rest(tree, tvb, packet, bth, at)
  local room = tvb:len() - at - ICRC_OCTETS
  if room < 0 or tvb:len() < tvb:reported_len() then
    too_short(tree, tvb)
    return
  end
  if is_write(bth.opcode) then
    if bth.pad > room or room % 4 ~= 0 then
      tree:add_proto_expert_info(experts.bad_pad)
    end
    local octets = math.max(0, room - bth.pad)
    if octets > 0 then tree:add(fields["payload"], tvb:range(at, octets)) end
    if room > octets then tree:add(fields["padding"], tvb:range(at + octets, room - octets)) end
  else
    if bth.pad > 0 then tree:add_proto_expert_info(experts.bad_pad) end
    if room > 0 then
      tree:add(fields["rest"], tvb:range(at, room))
      tree:add_proto_expert_info(experts.bad_length)
    end
  end
  add_icrc(tree, tvb, packet)
end

-- Add the headers behind the BTH; return where they end, or nothing if the packet ends before.
local function add_extensions(tree, tvb, names, trimmed)
  local at, values = octets_of("bth"), {}
  for _, header in ipairs(names) do
    local octets = octets_of(header)
    if trimmed and header ~= "meth" and header ~= "tseth" then break end
    if at + octets > tvb:len() then
      too_short(tree, tvb)
      return nil, values
    end
    values[header] = add_header(tree, tvb:range(at, octets), header)
    at = at + octets
  end
  return at, values
end

local function tell(pinfo, bth, values, packet)
  local name = OPCODES[bth.opcode] or string.format("opcode 0x%02x", bth.opcode)
  local text = string.format("%s QP 0x%06x PSN 0x%06x", name, bth.dqp, bth.psn)
  if bth.retransmission == 1 then text = text .. " resent" end
  if packet and packet.trimmed then text = text .. " trimmed" end
  local reason = values.neth and REASONS[values.neth.reason]
  local syndrome = values.aeth and SYNDROMES[values.aeth.syndrome]
  if reason or syndrome then text = text .. " " .. (reason or syndrome) end
  pinfo.cols.protocol = "MRC"
  pinfo.cols.info = text
end

-- Dissect from the BTH on.
local function dissect(tvb, pinfo, root, packet)
  local tree = root:add(mrc, tvb:range())
  if tvb:len() < octets_of("bth") then
    too_short(tree, tvb)
    return tree
  end
  local trimmed = packet ~= nil and packet.trimmed
  local bth, branch = add_header(tree, tvb:range(0, octets_of("bth")), "bth")
  check_bth(branch, bth)
  if packet then
    add_path(tree, packet)
    tree:add(fields["trimmed"], trimmed):set_generated()
    if not trimmed and number_at(packet.udp, 4, 2) ~= packet.ip_payload then
      tree:add_proto_expert_info(experts.bad_length)
    end
  end
  local names = extensions(bth.opcode, bth.timestamped == 1)
  local values = {}
  if names then
    local at
    at, values = add_extensions(tree, tvb, names, trimmed)
    if at and trimmed then
      if not is_write(bth.opcode) then tree:add_proto_expert_info(experts.bad_opcode) end
      if at < tvb:len() then tree:add(fields["rest"], tvb:range(at)) end
    elseif at then
      add_rest(tree, tvb, packet, bth, at)
    end
  end
  tell(pinfo, bth, values, packet)
  return tree
end

-- Call one of Wireshark's own dissectors. What it finds malformed must be called so here, because
-- that arrives as an error of this script.
local function delegate(dissector, tvb, pinfo, root)
  local well, result = pcall(dissector.call, dissector, tvb, pinfo, root)
  if well then return result end
  root:add_proto_expert_info(result:find("Malformed") and experts.malformed or experts.cut)
  return tvb:len()
end

-- Opcodes of other groups than MRC's are plain RoCEv2.
local udp_ports = DissectorTable.get("udp.port")
local roce = udp_ports:get_dissector(PORTS[1])

function mrc.dissector(tvb, pinfo, root)
  if tvb:len() > 0 and math.floor(tvb:range(0, 1):uint() / 32) ~= 6 then
    return roce and delegate(roce, tvb, pinfo, root) or 0
  end
  local list = {found_udp()}
  local info = list[#list]
  dissect(tvb, pinfo, root, info and below(info.source:raw(info.offset, UDP_OCTETS)))
  return tvb:len()
end

for _, port in ipairs(PORTS) do udp_ports:add(port, mrc) end

-- A trimmed packet is shorter than its UDP header says, by design, and Wireshark's UDP would call it
-- malformed. So the UDP headers of such packets are read here, and all others by Wireshark.
local mrc_udp = Proto("mrc_udp", "UDP that may be of a trimmed MRC packet")
local protocols = DissectorTable.get("ip.proto")
local plain_udp = protocols:get_dissector(17)

local function is_port(port)
  for _, one in ipairs(PORTS) do
    if one == port then return true end
  end
  return false
end

function mrc_udp.dissector(tvb, pinfo, root)
  if tvb:len() > UDP_OCTETS and is_port(tvb:range(2, 2):uint())
      and tvb:range(4, 2):uint() > tvb:reported_len() then
    local packet = below(tvb:raw(0, UDP_OCTETS))
    if packet and packet.trimmed then
      pinfo.src_port, pinfo.dst_port = tvb:range(0, 2):uint(), tvb:range(2, 2):uint()
      local tree = dissect(tvb:range(UDP_OCTETS):tvb(), pinfo, root, packet)
      local udp = tree:add(mrc, tvb:range(0, UDP_OCTETS), "UDP")
      udp:add(fields["udp.source_port"], tvb:range(0, 2))
      udp:add(fields["udp.destination_port"], tvb:range(2, 2))
      udp:add(fields["udp.length"], tvb:range(4, 2))
      return tvb:len()
    end
  end
  return delegate(plain_udp, tvb, pinfo, root)
end

protocols:add(17, mrc_udp)

-- MRC, like RoCEv2, sends no UDP checksum over IPv6 either.
if set_preference then set_preference("udp.ignore_ipv6_zero_checksum", true) end
