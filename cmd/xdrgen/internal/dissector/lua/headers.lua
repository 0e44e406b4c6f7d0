-- RPC-over-RDMA version 2 (draft-ietf-nfsv4-rpcrdma-version-two-00), with the header types, flags,
-- properties and errors of the unit. Here is what XDR does not say: where messages are found, the two
-- halves of the credit field, messages in several parts, and the RPC message after the header.
-- Wireshark itself dissects version 1. Sections are those of the draft.

-- The flag of a message that has another part (§6.3.2), and the header type of grants (§6.4.2).
local flagMore, typeNomsg = 2, 1

local headerTypes, flagNames = codes["header-type"] or {}, codes.flag or {}
local start = place("prefix", "prefix", prefix)
local common = types[prefix.ref].places[1] -- the four words of all versions (RFC 8166 §4.2)

local f = {
	ceiling = declare(ProtoField.uint16, "credit.ceiling", "Credits that may be outstanding"),
	granted = declare(ProtoField.uint16, "credit.granted", "Credits newly granted"),
	grant = declare(ProtoField.none, "grant", "Grants credits alone"),
	form1 = declare(ProtoField.uint32, "form1", "Error in the form of version 1", base.DEC, { [1] = "ERR_VERS" }),
	low = declare(ProtoField.uint32, "form1.low", "Lowest version"),
	high = declare(ProtoField.uint32, "form1.high", "Highest version"),
	part = declare(ProtoField.uint32, "part", "Part of a continued message"),
	last = declare(ProtoField.none, "part.last", "Last part"),
	payload = declare(ProtoField.bytes, "payload", "RPC message"),
}
proto.fields = all

local misfit = ProtoExpert.new(unit.name .. ".flag", "Flags that the header type does not have", expert.group.PROTOCOL, expert.severity.WARN)
local inside = ProtoExpert.new(unit.name .. ".inside", "Another message inside a continued one", expert.group.SEQUENCE, expert.severity.WARN)
local lost = ProtoExpert.new(unit.name .. ".cut", "The capture has only the beginning of the message", expert.group.UNDECODED, expert.severity.NOTE)
local experts = { misfit, inside, lost }
for _, name in ipairs(sorted(faults)) do experts[#experts + 1] = faults[name] end
proto.experts = experts

-- The opcode of RDMAP. The last one in a packet belongs to the Send at hand.
local opcode = Field.new("iwarp_rdma.opcode")

local rpc = Dissector.get("rpc")

-- mostJoined is the size in bytes of the longest continued message that is joined.
local mostJoined = 1048576

-- The continued message that is open in each direction of a connection, while packets are read for
-- the first time, and the parts by the number of their packets.
local open, parts = {}, {}

function proto.init() open, parts = {}, {} end

-- has reports whether a number has a bit.
local function has(number, bit) return math.floor(number / bit) % 2 == 1 end

-- The flags of all header types, for those that the unit does not have.
local defined = 0
for bit in pairs(flagNames) do defined = defined + bit end

-- flagsOf returns the flags for the column Info, and whether the header type does not have one.
local function flagsOf(flags, mask)
	local text, wrong = "", false
	for i = 0, 31 do
		local bit = 2 ^ i
		if has(flags, bit) then
			local name = flagNames[bit] and flagNames[bit].name:gsub("^.*_F_", "") or string.format("flag 0x%x", bit)
			text, wrong = text .. " " .. name, wrong or not has(mask, bit)
		end
	end
	return text, wrong
end

-- versionError reports whether a message is ERR_VERS in the form of version 1, which servers without
-- version 2 send: code and versions are directly after the first four words (RFC 8166 §4.5). Errors
-- of version 2 of this size have one of four codes in the place of the lowest version.
local function versionError(tvb)
	if tvb:reported_len() ~= 28 or tvb:len() < 28 or tvb(12, 4):uint() ~= 4 or tvb(16, 4):uint() ~= 1 then return false end
	local low = tvb(20, 4):uint()
	return not (low == 5 or low == 6 or low == 7 or low == 9)
end

-- part returns the part of a continued message that a packet has, or nil. Packets are numbered when
-- they are read for the first time. at is where its payload begins, or nil.
local function part(tvb, pinfo, xid, type, more, at)
	-- rdmatcp.lua says which of the messages of a packet it is. In iWARP each has its own offset.
	local key = tostring(pinfo.number) .. " " .. (pinfo.private["rdmatcp_segment"] or tostring(tvb:offset()))
	if pinfo.visited then return parts[key] end
	local flow = table.concat({ tostring(pinfo.src), pinfo.src_port, tostring(pinfo.dst), pinfo.dst_port }, " ")
	local whole = open[flow]
	local found
	if whole and (whole.xid ~= xid or whole.type ~= type) then
		found = { inside = true }
	elseif whole or more then
		whole = whole or { xid = xid, type = type, count = 0, bytes = ByteArray.new() }
		open[flow] = more and whole or nil
		whole.count = whole.count + 1
		if at and whole.bytes and tvb:len() == tvb:reported_len() and whole.bytes:len() + tvb:len() - at <= mostJoined then
			if at < tvb:len() then whole.bytes:append(tvb:range(at):bytes()) end
		else
			whole.bytes = nil
		end
		found = { number = whole.count, last = not more, bytes = not more and whole.bytes or nil }
	end
	parts[key] = found
	return found
end

-- shown shows which part a message is, and returns the text for the column Info.
local function shown(p, tvb, tree)
	if not p then return "" end
	if p.inside then
		tree:add_proto_expert_info(inside)
		return ""
	end
	tree:add(f.part, tvb:range(16, 4), p.number)
	if p.last then tree:add(f.last, tvb:range(16, 4)) end
	return ", part " .. p.number .. (p.last and ", the last" or "")
end

-- payload shows an RPC message, or a part of one. The last part has the whole message.
local function payload(at, p, tvb, pinfo, tree, root)
	local message
	if p and p.number then
		if at < tvb:len() then tree:add(f.payload, tvb:range(at)) end
		message = p.bytes and p.bytes:len() > 0 and p.bytes:tvb("RPC message, joined")
	else
		message = at < tvb:len() and tvb:range(at):tvb()
	end
	-- For a malformed message the call fails, after Wireshark has marked it.
	if message and rpc then pcall(rpc.call, rpc, message, pinfo, root) end
end

-- grants reports whether a message only grants credits: a NOMSG without chunks and handle.
local function grants(tvb, type)
	return type == typeNomsg and tvb:len() == 36 and tvb(20, 16):raw() == string.rep("\0", 16)
end

-- header shows the header of a message, and returns its header type, flags and XID, if it has them.
local function header(r, tree)
	local h = {}
	h.whole = r:run(tree, function()
		r:value(tree, start)
		h.xid, h.type, h.flags = r.tvb(0, 4):uint(), r.tvb(12, 4):uint(), r.tvb(16, 4):uint()
		tree:add(f.ceiling, r.tvb(8, 2)) -- §4.3.1
		tree:add(f.granted, r.tvb(10, 2))
		h.of = headerTypes[h.type]
		r.notes, r.size = {}, 0
		if not h.of then
			if r.at < r.stop then tree:add(undecoded, r.tvb:range(r.at)) end
			r.at = r.stop
			return
		end
		if h.of.place then
			r:value(tree, h.of.place)
			-- The data of an error follow a body with its number.
			if r.error and r.error.of == types[h.of.place.t.ref] and r.error.place then r:value(tree, r.error.place) end
		end
		r.loose = h.of.payload
	end)
	return h
end

function proto.dissector(tvb, pinfo, root)
	pinfo.cols.protocol = "RPCoRDMA2"
	local tree = root:add(proto, tvb:range())
	if tvb:len() < tvb:reported_len() then tree:add_proto_expert_info(lost) end
	local r = newReader(tvb, 0, tvb:len())
	if versionError(tvb) then
		r:run(tree, function()
			r:value(tree, common)
			local item = tree:add(f.form1, tvb:range(16, 4))
			item:add(f.low, tvb:range(20, 4))
			item:add(f.high, tvb:range(24, 4))
			r.at = r.stop
		end)
		pinfo.cols.info = string.format("ERR_VERS in the form of version 1, xid 0x%08x", tvb(0, 4):uint())
		return tvb:len()
	end
	local h = header(r, tree)
	if not h.flags then
		pinfo.cols.info = "[" .. r.broken .. "]"
		return tvb:len()
	end
	local mask = h.of and h.of.flags or defined
	local flags, wrong = flagsOf(h.flags, mask)
	if wrong then tree:add_proto_expert_info(misfit) end
	local info = (h.of and h.of.name or "header type " .. h.type) .. flags .. string.format(" xid 0x%08x", h.xid)
	local p
	if grants(tvb, h.type) then
		tree:add(f.grant, tvb:range(20, 16))
		info = info .. ", grants " .. tvb(10, 2):uint()
		r.notes = {}
	elseif h.whole and h.of and (h.type == typeNomsg or has(mask, flagMore)) then -- not errors, nor extensions
		p = part(tvb, pinfo, h.xid, h.type, has(h.flags, flagMore) and has(mask, flagMore), h.of.payload and r.at or nil)
		info = info .. shown(p, tvb, tree)
	end
	if #r.notes > 0 and not (h.of and h.of.payload) then info = info .. ": " .. table.concat(r.notes, ", ") end
	if r.broken then info = info .. " [" .. r.broken .. "]" end
	pinfo.cols.info = info
	if h.whole and h.of and h.of.payload then payload(r.at, p, tvb, pinfo, tree, root) end
	return tvb:len()
end

-- Sends whose second word is 2. RDMAP has four kinds of Send, 3 to 6. Wireshark has joined the
-- segments of a Send. When it reads a file without showing it, there may be no opcode. Then type and
-- flags must be those of a message: such a packet is read only for the parts of continued messages.
proto:register_heuristic("iwarp_ddp_rdmap", function(tvb, pinfo, root)
	local ops = { opcode() }
	local op = ops[#ops]
	if tvb:len() < 16 or tvb(4, 4):uint() ~= 2 then return false end
	if op then
		if op.value < 3 or op.value > 6 then return false end
	elseif tvb:len() < 20 then
		return false
	else
		local of = headerTypes[tvb(12, 4):uint()]
		if not of or select(2, flagsOf(tvb(16, 4):uint(), of.flags)) then return false end
	end
	proto.dissector(tvb, pinfo, root)
	return true
end)
