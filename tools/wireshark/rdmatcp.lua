-- RDMA over TCP (draft-williams-rdmatcp-00) for Wireshark and tshark, with the connection profile of
-- docs/rdmatcp.md.
--
--     tshark -X lua_script:tools/wireshark/rdmatcp.lua -r rdma.pcap -O rdmatcp
--
-- A connection is found by its first message, or by a TCP segment that begins with a whole RDMA
-- segment whose CRC is right. Others need the preference rdmatcp.ports, or "Decode As". Wireshark
-- dissects RPC-over-RDMA version 1 in iWARP and InfiniBand only, so messages are passed on to it as the
-- messages of iWARP that they correspond to. rpcrdma2.lua dissects version 2, if it is loaded too.
-- Sections in comments are those of the draft.

local proto = Proto("rdmatcp", "RDMA over TCP")

local types = { [0] = "Send", [1] = "RDMA_Write", [2] = "RDMA_Read_Request", [3] = "RDMA_Read_Response" }
local send, write, request, response = 0, 1, 2, 3
local reasons = {
	[1] = "goodbye", [2] = "a rule was broken", [3] = "wrong key, range, right or domain",
	[4] = "a Send was too long", [5] = "a Send found no Receive", [6] = "too many Reads",
	[7] = "the sender failed", [8] = "a time limit was exceeded",
}
local checks = { [0] = "Bad", [1] = "Good", [2] = "Unverified" }

local f = {
	version = ProtoField.uint8("rdmatcp.version", "Version"),
	res = ProtoField.uint8("rdmatcp.res", "res", base.HEX, nil, 0xf0),
	b = ProtoField.bool("rdmatcp.b", "B, begin", 8, nil, 0x08),
	e = ProtoField.bool("rdmatcp.e", "E, end", 8, nil, 0x04),
	type = ProtoField.uint8("rdmatcp.type", "Type", base.DEC, types, 0x03),
	length = ProtoField.uint16("rdmatcp.segment_length", "Segment Length"),
	id = ProtoField.uint64("rdmatcp.connection_id", "Connection ID", base.HEX),
	number = ProtoField.uint32("rdmatcp.message_number", "Message Number", base.HEX),
	order = ProtoField.uint16("rdmatcp.order", "order", base.HEX),
	reserved = ProtoField.uint8("rdmatcp.reserved", "res.", base.HEX),
	clen = ProtoField.uint8("rdmatcp.clen", "CLEN"),
	data_offset = ProtoField.uint32("rdmatcp.data_offset", "Data Offset"),
	buffer = ProtoField.uint32("rdmatcp.rdma_buffer_id", "RDMA Buffer ID", base.HEX),
	offset = ProtoField.uint32("rdmatcp.rdma_buffer_offset", "RDMA Buffer offset", base.HEX),
	rdma_length = ProtoField.uint32("rdmatcp.rdma_length", "RDMA Length"),
	control = ProtoField.bytes("rdmatcp.control_data", "Control Data"),
	payload = ProtoField.bytes("rdmatcp.payload", "Payload Data"),
	padding = ProtoField.bytes("rdmatcp.padding", "Padding"),
	crc = ProtoField.uint32("rdmatcp.crc", "CRC-32", base.HEX),
	computed = ProtoField.uint32("rdmatcp.crc.computed", "Computed CRC-32", base.HEX),
	status = ProtoField.uint8("rdmatcp.crc.status", "CRC-32 status", base.DEC, checks),

	hello = ProtoField.none("rdmatcp.hello", "Hello of the connection profile"),
	magic = ProtoField.string("rdmatcp.hello.magic", "Magic"),
	hello_version = ProtoField.uint8("rdmatcp.hello.version", "Profile version"),
	flags = ProtoField.uint8("rdmatcp.hello.flags", "Flags", base.HEX),
	rejected = ProtoField.bool("rdmatcp.hello.flags.rejected", "Rejected by the application", 8, nil, 0x01),
	refused = ProtoField.bool("rdmatcp.hello.flags.refused", "Refused by the listener", 8, nil, 0x02),
	private_length = ProtoField.uint16("rdmatcp.hello.private_length", "Length of private data"),
	max_send = ProtoField.uint32("rdmatcp.hello.max_send", "Longest Send accepted"),
	serves = ProtoField.uint16("rdmatcp.hello.reads_served", "Reads served at once"),
	wants = ProtoField.uint16("rdmatcp.hello.reads_wanted", "Reads wanted at once"),
	private = ProtoField.bytes("rdmatcp.hello.private", "Private data"),
	pd_version = ProtoField.uint8("rdmatcp.hello.rpcrdma.version", "RPC-over-RDMA private data, version (RFC 8797)"),
	pd_invalidate = ProtoField.bool("rdmatcp.hello.rpcrdma.invalidate", "Remote invalidation", 8, nil, 0x01),
	pd_send = ProtoField.uint32("rdmatcp.hello.rpcrdma.send_size", "Inline size, sent"),
	pd_receive = ProtoField.uint32("rdmatcp.hello.rpcrdma.receive_size", "Inline size, received"),
	solicited = ProtoField.none("rdmatcp.solicited", "Solicited event"),
	invalidate = ProtoField.uint32("rdmatcp.invalidate", "RDMA Buffer ID to invalidate", base.HEX),
	reason = ProtoField.uint32("rdmatcp.report.reason", "Report: the connection ends, reason", base.DEC, reasons),
	cause = ProtoField.uint32("rdmatcp.report.message_number", "Message that caused it", base.HEX),
	cause_buffer = ProtoField.uint32("rdmatcp.report.rdma_buffer_id", "Its RDMA Buffer ID", base.HEX),

	requested = ProtoField.framenum("rdmatcp.request_in", "Requested in", base.NONE, frametype.REQUEST),
	segments = ProtoField.uint32("rdmatcp.message.segments", "Segments of the message"),
	size = ProtoField.uint32("rdmatcp.message.length", "Payload of the message"),
}
proto.fields = f

-- The rules of the format, in the order in which they are checked. A segment shows the first that it
-- breaks.
local rules = {
	bad_version = "Version must be 1 (3.4 Version)",
	length_below_header = "Segment Length includes the header (3.4 Segment Length)",
	truncated = "The capture has only a part of the segment",
	wrong_connection_id = "All segments of a connection have one Connection ID (3.4 Connection ID)",
	control_too_long = "Control data lies within Segment Length (3.4 CLEN, control data)",
	request_with_payload = "A Read_Request has no payload (3.3)",
	request_not_whole = "A Read_Request is one segment, with B and E (3.3)",
	missing_begin = "A message starts with a segment that has B (3.4 B, E)",
	unexpected_begin = "All segments of a message come before the next message of its group (4)",
	number_not_next = "Message Numbers are sequential (3.4 Message Number)",
	wrong_read_number = "Read_Responses are in the order of their requests (4)",
	number_changed = "All segments of a message have one Message Number (4)",
	type_changed = "All segments of a message have one type (4)",
	data_offset_not_zero = "The first segment has Data Offset 0 (3.4 Data Offset)",
	offset_not_next = "An offset grows by the payload of the segments before (3.4 Data Offset; RDMA Buffer Offset)",
	offset_wraps = "An RDMA range ends at 2^32 or before (3.4 RDMA Buffer Offset)",
	buffer_id_changed = "RDMA Buffer ID is constant in a message (3.4 RDMA Buffer ID)",
	rdma_length_changed = "RDMA Length is the same in all segments (3.4 RDMA Length)",
	no_read_outstanding = "A Read_Response answers a Read_Request (3.4 Message Number)",
	payload_too_long = "A message has no more payload than was announced (3.4 RDMA Length)",
	payload_too_short = "A message has as much payload as was announced (3.4 RDMA Length)",
	bad_crc = "The CRC-32 is wrong (3.4 CRC-32)",
	bad_hello = "The first message is not a hello (docs/rdmatcp.md)",
	bad_control = "The control data does not have the words that res announces (docs/rdmatcp.md)",
}
local expert, experts = {}, {}
for name, text in pairs(rules) do
	local group = name == "bad_crc" and _G.expert.group.CHECKSUM or _G.expert.group.MALFORMED
	expert[name] = ProtoExpert.new("rdmatcp." .. name, text, group, _G.expert.severity.ERROR)
	experts[#experts + 1] = expert[name]
end
-- Wireshark 4.0 looks at the first Send of a packet alone while it joins segments of Sends.
local notPassedOn = ProtoExpert.new("rdmatcp.not_passed_on",
	"Not dissected further. If the packet has several Sends, set iwarp_ddp_rdmap.reassemble_iwarp_rdma_send to FALSE", _G.expert.group.UNDECODED, _G.expert.severity.NOTE)
experts[#experts + 1] = notPassedOn
proto.experts = experts

proto.prefs.ports = Pref.range("TCP ports", "", "Ports of connections that are not found by their first message", 65535)
proto.prefs.crc = Pref.bool("Check CRC-32", true, "Compute the CRC-32 of each segment")
proto.prefs.profile = Pref.bool("Assume the connection profile", false, "Also for connections whose first message is not in the capture")
proto.prefs.rpc = Pref.bool("Dissect RPC-over-RDMA", true, "Pass messages on to the dissectors of RPC-over-RDMA")

-- The CRC of §3.4 has the generator 0xdb710641 of the draft, reflected here.
local bits = bit32 or bit
local xor = bits and bits.bxor or load("return function(a, b) return a ~ b end")()
local crcs = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		local odd = c % 2 == 1
		c = math.floor(c / 2)
		if odd then c = xor(c, 0x82608edb) % 0x100000000 end
	end
	crcs[i] = c
end

local function checksum(bytes)
	local c = 0xffffffff
	for i = 1, #bytes, 4096 do
		for _, octet in ipairs({ bytes:byte(i, math.min(i + 4095, #bytes)) }) do
			c = xor(math.floor(c / 256), crcs[xor(c % 256, octet)]) % 0x100000000
		end
	end
	return 0xffffffff - c
end

local function headerSize(type) return (type == write or type == request) and 32 or 24 end

-- wire returns the size of a segment with padding and CRC (§5), or nil if its start is wrong.
local function wire(tvb, at)
	local length = tvb(at + 2, 2):uint()
	if tvb(at, 1):uint() ~= 1 or length < headerSize(tvb(at + 1, 1):uint() % 4) then return nil end
	return length + -length % 4 + 4
end

-- The state of connections, built while packets are read for the first time, and what it says of each
-- segment.
local flows, notes, mostJoined = {}, {}, 1048576

function proto.init() flows, notes = {}, {} end

-- flow returns the state of both directions of a connection: that of the packet, and that of its
-- answers.
local function flow(pinfo)
	local from = tostring(pinfo.src) .. " " .. pinfo.src_port
	local to = tostring(pinfo.dst) .. " " .. pinfo.dst_port
	local function direction(key)
		flows[key] = flows[key] or { reads = {}, sent = 0, groups = { {}, {} } }
		return flows[key]
	end
	return direction(from .. " " .. to), direction(to .. " " .. from)
end

-- oldest returns the Read_Request that a Read_Response answers, or nil. If the capture does not have
-- the whole connection, requests may be missing in it, or their responses.
local function oldest(h, own, peer)
	if own.whole then return peer.reads[1] end
	for i, read in ipairs(peer.reads) do
		if read.number == h.number then
			for _ = 2, i do table.remove(peer.reads, 1) end
			return read
		end
	end
end

-- follow checks a segment against those before it, as package segment of this project does. It returns
-- the message and the rule that is broken, or nil.
local function follow(h, own, peer)
	local group = h.type == response and 2 or 1
	local m = own.groups[group]
	if not h.b and not own.whole and (m.lost or not m.open) then -- it began before the capture
		m = { lost = true, open = not h.e }
		own.groups[group] = m
		if group == 1 then own.next = (h.number + 1) % 0x100000000 end
		return m
	end
	if h.b and m.open and not m.lost then m.open = false; return m, "unexpected_begin" end
	if not h.b and not m.open then return m, "missing_begin" end
	local read = group == 2 and oldest(h, own, peer)
	if h.b then
		local before = own.next
		if group == 1 then own.next = (h.number + 1) % 0x100000000 end
		m = { open = true, type = h.type, number = h.number, buffer = h.buffer, base = 0, most = 0xffffffff, sent = 0, count = 0, control = "", parts = {} }
		own.groups[group] = m
		if h.type == write or h.type == request then m.base, m.most = h.offset, h.rdma_length end
		if read then
			m.most, m.requested = read.length, read.frame
			if h.number ~= read.number then return m, "wrong_read_number" end
		end
		if group == 1 and before and before ~= h.number then return m, "number_not_next" end
	end
	if h.number ~= m.number then return m, "number_changed" end
	if h.type ~= m.type then return m, "type_changed" end
	if h.offset ~= (m.base + m.sent) % 0x100000000 then return m, h.b and "data_offset_not_zero" or "offset_not_next" end
	if h.b and group == 2 and not read and own.whole then return m, "no_read_outstanding" end
	if h.b and m.base + m.most > 0x100000000 then return m, "offset_wraps" end
	if h.type == request then
		own.reads[#own.reads + 1] = { number = h.number, length = h.rdma_length, frame = h.frame }
		m.open = false
		return m
	end
	if h.buffer ~= m.buffer then return m, "buffer_id_changed" end
	if h.type == write and h.rdma_length ~= m.most then return m, "rdma_length_changed" end
	m.sent, m.count = m.sent + h.payload, m.count + 1
	m.open = not h.e
	if h.e and read then table.remove(peer.reads, 1) end
	if m.sent > m.most then return m, "payload_too_long" end
	if h.e and m.sent < m.most and (h.type == write or h.type == response and m.requested) then return m, "payload_too_short" end
	return m
end

-- join keeps the control data of a Send, and its payload unless it is too long.
local function join(tvb, h, m)
	if h.type ~= send then return end
	if h.b then m.res = h.res end
	if h.clen > 0 then m.control = m.control .. tvb:range(h.header, 4 * h.clen):raw() end
	if m.sent > mostJoined then
		m.parts = nil
	elseif h.payload > 0 and m.parts then
		m.parts[#m.parts + 1] = tvb:range(h.at, h.payload):raw()
	end
end

-- isHello reports whether a segment is the first message of a side in the connection profile.
local function isHello(tvb, at)
	return tvb:len() >= at + 36 and tvb(at, 1):uint() == 1 and tvb(at + 1, 1):uint() % 16 == 13 and tvb(at + 32, 4):string() == "rpd1"
		and tvb(at + 20, 4):uint() == 0 and tvb(at + 28, 4):uint() == 0
end

-- record follows the connection when a segment is read for the first time.
local function record(tvb, pinfo, h)
	local own, peer = flow(pinfo)
	local hello = isHello(tvb, 0)
	if hello and own.next and own.id ~= h.id then -- the ports are used again
		for _, d in ipairs({ own, peer }) do
			d.id, d.next, d.reads, d.groups, d.whole, d.profile = nil, nil, {}, { {}, {} }, nil, nil
		end
	end
	local note = { first = not own.next and (own.whole or hello) }
	own.id = own.id or h.id
	peer.id = peer.id or h.id
	if hello and not own.next then
		own.whole, peer.whole, own.profile, peer.profile = true, true, true, true
	end
	if own.id ~= h.id then
		note.rule = "wrong_connection_id"
		return note
	end
	if h.rule then
		note.rule = h.rule
		return note
	end
	local m
	m, note.rule = follow(h, own, peer)
	note.profile, note.requested = own.profile, m.requested
	if note.rule or m.lost then return note end
	join(tvb, h, m)
	if h.e then
		note.count, note.size, note.res = m.count, m.sent, m.res
		if h.type == send then note.control, note.bytes = m.control, m.parts and table.concat(m.parts) end
	end
	if h.type == send then
		own.sends = own.sends or 0
		if h.e then own.sends = own.sends + 1 end
		note.msn = own.sends
	end
	return note
end

-- words shows the control data of a message as the profile defines it, and returns a text for the
-- column Info and the key to invalidate.
local function words(tree, tvb, h, note)
	local range, bytes = tvb:range(1, 1), note.control
	local function word(i) return Struct.unpack(">I4", bytes, 4 * i + 1) end
	local function need(n)
		if #bytes >= 4 * n then return true end
		tree:add_proto_expert_info(expert.bad_control)
		return false
	end
	if h.clen > 0 then range = tvb:range(h.header, 4 * h.clen) end
	if note.res == 15 then
		if not need(3) then return " report" end
		tree:add(f.reason, range, word(0))
		tree:add(f.cause, range, word(1))
		tree:add(f.cause_buffer, range, word(2))
		return " report: " .. (reasons[word(0)] or word(0))
	end
	local text, key = "", nil
	if note.res % 2 == 1 then
		tree:add(f.solicited, tvb:range(1, 1))
		text = " solicited"
	end
	if note.res >= 8 and need(2) then
		if word(0) ~= 1 then
			tree:add_proto_expert_info(expert.bad_control)
		else
			key = word(1)
			tree:add(f.invalidate, range, key)
			text = text .. string.format(" invalidates 0x%08x", key)
		end
	end
	return text, key
end

-- hello shows the first message of a side.
local function hello(tree, tvb, h)
	local size = 4 * h.clen
	if not isHello(tvb, 0) or size < 16 or tvb(38, 2):uint() > math.min(size - 16, 1000) then
		tree:add_proto_expert_info(expert.bad_hello)
		return ""
	end
	local t = tree:add(f.hello, tvb:range(32, size))
	t:add(f.magic, tvb:range(32, 4))
	t:add(f.hello_version, tvb:range(36, 1))
	local flags = t:add(f.flags, tvb:range(37, 1))
	flags:add(f.rejected, tvb:range(37, 1))
	flags:add(f.refused, tvb:range(37, 1))
	t:add(f.private_length, tvb:range(38, 2))
	t:add(f.max_send, tvb:range(40, 4))
	t:add(f.serves, tvb:range(44, 2))
	t:add(f.wants, tvb:range(46, 2))
	local n = tvb(38, 2):uint()
	if n > 0 then
		local p = t:add(f.private, tvb:range(48, n))
		if n >= 8 and tvb(48, 4):uint() == 0xf6ab0e18 then
			p:add(f.pd_version, tvb:range(52, 1))
			p:add(f.pd_invalidate, tvb:range(53, 1))
			p:add(f.pd_send, tvb:range(54, 1), 1024 * (tvb(54, 1):uint() + 1))
			p:add(f.pd_receive, tvb:range(55, 1), 1024 * (tvb(55, 1):uint() + 1))
		end
	end
	local said = tvb(37, 1):uint()
	return " hello" .. (said % 2 == 1 and ", rejected" or "") .. (said >= 2 and ", refused" or "")
end

-- version returns the version of a message of RPC-over-RDMA, or nil if a Send cannot be one: its
-- second word is the version. Wireshark's dissector reads 16 bytes without a check.
local function version(bytes)
	local v = bytes and #bytes >= 16 and Struct.unpack(">I4", bytes, 5)
	return (v == 1 or v == 2) and v or nil
end

-- asIWARP returns a message, or a segment of data that is placed, as a segment of DDP (RFC 5041).
local function asIWARP(tvb, h, note, key)
	local last = h.e and 0x41 or 0x01
	local payload = note.bytes or h.payload > 0 and tvb:range(h.at, h.payload):raw() or ""
	if h.type == send then
		return Struct.pack(">BBI4I4I4I4", 0x41, key and 0x44 or 0x43, key or 0, 0, note.msn % 0x100000000, 0) .. payload
	elseif h.type == request then
		return Struct.pack(">BBI4I4I4I4", 0x41, 0x41, 0, 1, h.number, 0) ..
			Struct.pack(">I4I4I4I4I4I4I4", h.number, 0, 0, h.rdma_length, h.buffer, 0, h.offset)
	end
	local op, stag = 0x40, h.buffer
	if h.type == response then op, stag = 0x42, h.number end
	return Struct.pack(">BBI4I4I4", last + 0x80, op, stag, 0, h.offset) .. payload
end

-- passOn gives a segment to the dissectors of RPC-over-RDMA, and reports whether one took it.
local iwarp, xid = Dissector.get("iwarp_ddp_rdmap"), Field.new("rpcordma.xid")
local found, rpcrdma2
local function passOn(tvb, pinfo, root, h, note, key)
	if h.type == send then
		if not note.bytes then return false end
		local v = version(note.bytes)
		if not v then return false end
		if not found then found, rpcrdma2 = pcall(Dissector.get, "rpcrdma2") end
		if v == 2 and found and rpcrdma2 then
			pinfo.private["rdmatcp_segment"] = note.key -- by which it knows its messages
			rpcrdma2:call(ByteArray.new(note.bytes, true):tvb("Message of RPC-over-RDMA"), pinfo, root)
			pinfo.private["rdmatcp_segment"] = nil
			return true
		elseif v == 2 then
			return false
		end
	elseif h.type ~= request and h.payload == 0 then
		return false
	end
	local bytes = ByteArray.new(asIWARP(tvb, h, note, key), true):tvb("As a message of iWARP")
	local before = #{ xid() }
	local right = pcall(function() iwarp:call(bytes, pinfo, root) end)
	local taken = not right or not tostring(pinfo.cols.protocol):find("^DDP")
	if not taken then
		pinfo.cols.protocol = "RDMATCP"
		pinfo.cols.info:clear()
	end
	if h.type == send then return not right or #{ xid() } > before end
	return taken
end

-- trailer shows padding and CRC, and reports whether the CRC is wrong.
local function trailer(tvb, tree, h)
	local at = h.length
	if at % 4 > 0 then tree:add(f.padding, tvb:range(at, -at % 4)) end
	at = at + -at % 4
	local found = tvb(at, 4):le_uint()
	tree:add_le(f.crc, tvb:range(at, 4))
	if not proto.prefs.crc then
		tree:add(f.status, tvb:range(at, 4), 2)
		return false
	end
	local computed = checksum(tvb:range(0, at):raw())
	tree:add(f.status, tvb:range(at, 4), found == computed and 1 or 0)
	if found == computed then return false end
	tree:add(f.computed, tvb:range(at, 4), computed)
	return true
end

-- header shows a header and returns its values. rule is a rule that the header breaks by itself.
local function header(tvb, pinfo, tree)
	local flags, length = tvb(1, 1):uint(), tvb(2, 2):uint()
	local h = { type = flags % 4, res = math.floor(flags / 16), b = math.floor(flags / 8) % 2 == 1, e = math.floor(flags / 4) % 2 == 1, length = length, frame = pinfo.number }
	tree:add(f.version, tvb:range(0, 1))
	for _, field in ipairs({ f.res, f.b, f.e, f.type }) do tree:add(field, tvb:range(1, 1)) end
	tree:add(f.length, tvb:range(2, 2))
	h.header = headerSize(h.type)
	if tvb(0, 1):uint() ~= 1 then h.rule = "bad_version" elseif length < h.header then h.rule = "length_below_header" elseif tvb:len() < h.header then h.rule = "truncated" end
	if h.rule then return h end
	tree:add(f.id, tvb:range(4, 8))
	tree:add(f.number, tvb:range(12, 4))
	tree:add(f.order, tvb:range(16, 2))
	tree:add(f.reserved, tvb:range(18, 1))
	tree:add(f.clen, tvb:range(19, 1))
	h.id, h.number, h.clen, h.offset = tvb(4, 8):bytes():tohex(), tvb(12, 4):uint(), tvb(19, 1):uint(), tvb(20, 4):uint()
	if h.header == 24 then
		tree:add(f.data_offset, tvb:range(20, 4))
	else
		h.buffer, h.offset, h.rdma_length = tvb(20, 4):uint(), tvb(24, 4):uint(), tvb(28, 4):uint()
		tree:add(f.buffer, tvb:range(20, 4))
		tree:add(f.offset, tvb:range(24, 4))
		tree:add(f.rdma_length, tvb:range(28, 4))
	end
	h.at = h.header + 4 * h.clen
	h.payload = length - h.at
	if h.payload < 0 then
		h.rule = "control_too_long"
	elseif h.type == request and h.payload > 0 then
		h.rule = "request_with_payload"
	elseif h.type == request and not (h.b and h.e) then
		h.rule = "request_not_whole"
	end
	return h
end

-- summary returns what the column Info has of a segment.
local function summary(h)
	local text = types[h.type]
	if h.number then text = text .. string.format(" 0x%08x", h.number) end
	if h.buffer then text = text .. string.format(", buffer 0x%08x at %d, %d bytes", h.buffer, h.offset, h.rdma_length) end
	if h.rule then return text end
	if not (h.b and h.e) and h.type ~= request then
		text = text .. string.format(", segment at %d, %d bytes%s", h.offset, h.payload, h.e and ", the last" or "")
	elseif not h.buffer then
		text = text .. string.format(", %d bytes", h.payload)
	end
	return text
end

-- body shows what follows the header, and returns what the column Info has of it.
local function body(tvb, pinfo, tree, root, h, note)
	if h.clen > 0 and h.payload >= 0 then tree:add(f.control, tvb:range(h.header, 4 * h.clen)) end
	if h.payload > 0 then tree:add(f.payload, tvb:range(h.at, h.payload)) end
	if note.requested then tree:add(f.requested, tvb:range(12, 4), note.requested) end
	if note.count and note.count > 0 then
		tree:add(f.segments, tvb:range(1, 1), note.count)
		tree:add(f.size, tvb:range(1, 1), note.size)
	end
	local wrong = trailer(tvb, tree, h)
	if note.rule or wrong then
		tree:add_proto_expert_info(expert[note.rule or "bad_crc"])
		return " [" .. (note.rule or "bad_crc") .. "]"
	end
	if note.first then return hello(tree, tvb, h) end
	local text, key = "", nil
	if h.type == send and note.control and (note.profile or proto.prefs.profile) then text, key = words(tree, tvb, h, note) end
	if not proto.prefs.rpc then return text end
	if passOn(tvb, pinfo, root, h, note, key) then return nil end
	if h.type == send and version(note.bytes) == 1 then tree:add_proto_expert_info(notPassedOn) end
	return text
end

-- one dissects a segment.
local function one(tvb, pinfo, root)
	local tree = root:add(proto, tvb:range())
	local h = header(tvb, pinfo, tree)
	local text = summary(h)
	tree:append_text(", " .. text)
	local size = h.rule ~= "bad_version" and h.rule ~= "length_below_header" and h.length + -h.length % 4 + 4 or tvb:len()
	if not h.id or tvb:len() < size then
		h.rule = h.id and "truncated" or h.rule
		tree:add_proto_expert_info(expert[h.rule])
		pinfo.cols.info:append(text .. " [" .. h.rule .. "] ")
		return tvb:len()
	end
	local key = table.concat({ pinfo.number, tvb:offset(), tvb(0, math.min(32, tvb:len())):bytes():tohex() }, " ")
	if not notes[key] then -- one before the segment by which the connection was found has no state
		notes[key] = pinfo.visited and { rule = h.rule } or record(tvb, pinfo, h)
		notes[key].key = key
	end
	local info = body(tvb, pinfo, tree, root, h, notes[key])
	if info then pinfo.cols.info:append(text .. info) end
	pinfo.cols.info:append(" ")
	pinfo.cols.info:fence()
	return size
end

function proto.dissector(tvb, pinfo, root)
	pinfo.cols.protocol = "RDMATCP"
	pinfo.cols.info = ""
	local function length(rest, _, at) return wire(rest, at) or rest:len() - at end
	dissect_tcp_pdus(tvb, root, 4, length, one)
	pinfo.conversation = proto -- the dissector of RPC takes the whole connection for RPC over TCP
	return tvb:len()
end

-- Connections that begin as those of the profile, or with a right CRC.
proto:register_heuristic("tcp", function(tvb, pinfo, root)
	if tvb:len() < 28 or tvb(0, 1):uint() ~= 1 then return false end
	local size = wire(tvb, 0)
	if not size then return false end
	if not isHello(tvb, 0) then
		if size > tvb:len() or checksum(tvb:range(0, size - 4):raw()) ~= tvb(size - 4, 4):le_uint() then return false end
	end
	proto.dissector(tvb, pinfo, root)
	return true
end)

-- The table of ports follows the preference.
local ports = ""
function proto.prefs_changed()
	local all = DissectorTable.get("tcp.port")
	if ports ~= "" then all:remove(ports, proto) end
	ports = tostring(proto.prefs.ports)
	if ports ~= "" then all:add(ports, proto) end
end
