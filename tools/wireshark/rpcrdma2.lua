-- RPC-over-RDMA version 2 (draft-ietf-nfsv4-rpcrdma-version-two-00) for Wireshark and tshark.
--
--     tshark -X lua_script:tools/wireshark/rpcrdma2.lua -r ping.pcapng -O rpcrdma2
--
-- It reads the Sends of iWARP, such as those in the files of "rpcrdma ping -pcap", whose second
-- word is 2. Wireshark itself dissects version 1. Sections in comments are those of the draft.

local proto = Proto("rpcrdma2", "RPC-over-RDMA version 2")

local types = { [0] = "RDMA2_MSG", [1] = "RDMA2_NOMSG", [4] = "RDMA2_ERROR", [5] = "RDMA2_CONNPROP" }
local errors = {
	[1] = "ERR_VERS", [2] = "BAD_XDR", [3] = "INVAL_HTYPE", [4] = "INVAL_FLAG", [5] = "READ_CHUNKS",
	[6] = "WRITE_CHUNKS", [7] = "SEGMENTS", [8] = "WRITE_RESOURCE", [9] = "REPLY_RESOURCE", [10] = "SYSTEM",
}
local properties = {
	[1] = "Maximum send size", [2] = "Receive buffer size", [3] = "Maximum segment size",
	[4] = "Maximum segment count", [5] = "Reverse calls", [6] = "Host authentication",
}
local levels = { [0] = "none", [1] = "inline", [2] = "general" }

local f = {
	xid = ProtoField.uint32("rpcrdma2.xid", "XID", base.HEX),
	version = ProtoField.uint32("rpcrdma2.version", "Version"),
	ceiling = ProtoField.uint16("rpcrdma2.credit.ceiling", "Credits that may be outstanding"),
	granted = ProtoField.uint16("rpcrdma2.credit.granted", "Credits newly granted"),
	credit1 = ProtoField.uint32("rpcrdma2.credit.version1", "Credits of version 1"),
	type = ProtoField.uint32("rpcrdma2.type", "Header type", base.DEC, types),
	flags = ProtoField.uint32("rpcrdma2.flags", "Flags", base.HEX),
	response = ProtoField.bool("rpcrdma2.flags.response", "RESPONSE", 32, nil, 0x00000001),
	more = ProtoField.bool("rpcrdma2.flags.more", "MORE", 32, nil, 0x00000002),
	undefined = ProtoField.uint32("rpcrdma2.flags.undefined", "Undefined flags", base.HEX, nil, 0xfffffffc),
	invalidate = ProtoField.uint32("rpcrdma2.inv_handle", "Handle to invalidate", base.HEX),
	reads = ProtoField.none("rpcrdma2.reads", "Read list"),
	writes = ProtoField.none("rpcrdma2.writes", "Write list"),
	reply = ProtoField.none("rpcrdma2.reply", "Reply chunk"),
	chunk = ProtoField.uint32("rpcrdma2.write_chunk", "Write chunk, segments"),
	position = ProtoField.uint32("rpcrdma2.position", "Position"),
	handle = ProtoField.uint32("rpcrdma2.handle", "Handle", base.HEX),
	length = ProtoField.uint32("rpcrdma2.length", "Length"),
	offset = ProtoField.uint64("rpcrdma2.offset", "Offset", base.HEX),
	grant = ProtoField.none("rpcrdma2.grant", "Grants credits alone"),
	error = ProtoField.uint32("rpcrdma2.error", "Error", base.DEC, errors),
	form1 = ProtoField.none("rpcrdma2.error.form1", "In the form of version 1"),
	low = ProtoField.uint32("rpcrdma2.error.low", "Lowest version"),
	high = ProtoField.uint32("rpcrdma2.error.high", "Highest version"),
	max = ProtoField.uint32("rpcrdma2.error.max", "Maximum"),
	index = ProtoField.uint32("rpcrdma2.error.chunk", "Write chunk, from 1"),
	need = ProtoField.uint32("rpcrdma2.error.need", "Bytes needed"),
	count = ProtoField.uint32("rpcrdma2.properties", "Properties"),
	property = ProtoField.uint32("rpcrdma2.property", "Property", base.DEC, properties),
	size = ProtoField.uint32("rpcrdma2.property.size", "Size of the value"),
	value = ProtoField.uint32("rpcrdma2.property.value", "Value"),
	level = ProtoField.uint32("rpcrdma2.property.reverse", "Value", base.DEC, levels),
	data = ProtoField.bytes("rpcrdma2.property.data", "Value"),
	body = ProtoField.bytes("rpcrdma2.body", "Body of an unknown header type"),
	part = ProtoField.uint32("rpcrdma2.part", "Part of a continued message"),
	last = ProtoField.none("rpcrdma2.part.last", "Last part"),
	rest = ProtoField.bytes("rpcrdma2.payload", "RPC message"),
}
proto.fields = f

local expert = {
	short = ProtoExpert.new("rpcrdma2.short", "The message ends before its header does", expert.group.MALFORMED, expert.severity.ERROR),
	list = ProtoExpert.new("rpcrdma2.bad_list", "A list continues with a word that is neither 0 nor 1", expert.group.MALFORMED, expert.severity.ERROR),
	trailing = ProtoExpert.new("rpcrdma2.trailing", "Bytes behind the header of a message without payload", expert.group.PROTOCOL, expert.severity.WARN),
	flag = ProtoExpert.new("rpcrdma2.undefined_flag", "Flags that the draft does not define", expert.group.PROTOCOL, expert.severity.WARN),
	inside = ProtoExpert.new("rpcrdma2.inside", "Another message inside a continued one", expert.group.SEQUENCE, expert.severity.WARN),
}
proto.experts = expert

-- The opcode of RDMAP. The last one in a packet belongs to the Send at hand.
local opcode = Field.new("iwarp_rdma.opcode")

local rpc = Dissector.get("rpc")

-- mostJoined is the size in bytes of the longest continued message that is joined.
local mostJoined = 1048576

-- The continued message that is open in each direction of a connection, while packets are read for
-- the first time, and the parts by the number of their packets.
local open, parts = {}, {}

function proto.init() open, parts = {}, {} end

-- reader reads words in order. It stops with an expert's note where there are none.
local reader = {}
reader.__index = reader

function reader:left(n)
	if self.failed then return false end
	if self.at + n > self.tvb:len() then
		self.failed = true
		self.tree:add_proto_expert_info(expert.short)
		return false
	end
	return true
end

-- word adds the next word to a tree as a field, and returns it. It returns nil where there is none.
function reader:word(tree, field)
	if not self:left(4) then return nil end
	local range = self.tvb:range(self.at, 4)
	self.at = self.at + 4
	local item = field and tree:add(field, range)
	return range:uint(), item
end

-- entry reads the word before an entry of a list, and reports whether there is one.
function reader:entry()
	local more = self:word()
	if more and more > 1 then
		self.failed = true
		self.tree:add_proto_expert_info(expert.list)
	end
	return more == 1
end

-- segment reads a segment (§6.3.3).
function reader:segment(tree)
	self:word(tree, f.handle)
	self:word(tree, f.length)
	if self:left(8) then
		tree:add(f.offset, self.tvb:range(self.at, 8))
		self.at = self.at + 8
	end
end

-- chunk reads a write chunk.
function reader:chunk(tree)
	local n, item = self:word(tree, f.chunk)
	while n and n > 0 and not self.failed do
		self:segment(item)
		n = n - 1
	end
end

-- lists reads the chunk lists, and reports whether they are all empty.
function reader:lists()
	self:word(self.tree, f.invalidate)
	local function list(field, again, each)
		if self.failed or not self:entry() then return true end
		local tree = self.tree:add(field, self.tvb:range(self.at, 0))
		repeat each(tree) until self.failed or not again or not self:entry()
		return false
	end
	local reads = list(f.reads, true, function(tree) self:word(tree, f.position); self:segment(tree) end)
	local writes = list(f.writes, true, function(tree) self:chunk(tree) end)
	local reply = list(f.reply, false, function(tree) self:chunk(tree) end)
	return reads and writes and reply and not self.failed
end

-- error reads the body of an error, and returns its name (§6.4.3).
function reader:error()
	local code, item = self:word(self.tree, f.error)
	if code == 1 then
		self:word(item, f.low)
		self:word(item, f.high)
	elseif code == 5 or code == 6 or code == 7 then
		self:word(item, f.max)
	elseif code == 8 then
		self:word(item, f.index)
		self:word(item, f.need)
	elseif code == 9 then
		self:word(item, f.need)
	end
	return code and (errors[code] or "error " .. code) or ""
end

-- properties reads a property set (§6.4.4).
function reader:properties()
	local n = self:word(self.tree, f.count)
	while n and n > 0 and not self.failed do
		n = n - 1
		local id, item = self:word(self.tree, f.property)
		local size = id and self:word(item, f.size)
		if size and self:left(size) then
			local range = size > 0 and self.tvb:range(self.at, size)
			if id == 5 and size == 4 then
				item:add(f.level, range)
			elseif id >= 1 and id <= 5 and size == 4 then
				item:add(f.value, range)
			elseif size > 0 then
				item:add(f.data, range)
			else
				item:append_text(", the default")
			end
			local padding = (4 - size % 4) % 4
			if self:left(size + padding) then self.at = self.at + size + padding end
		end
	end
end

-- versionError reads ERR_VERS in the form of version 1, which servers without version 2 send: code
-- and versions are directly after the first four words (RFC 8166 §4.5). Errors of version 2 of this
-- size have one of four codes in the place of the lowest version.
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

-- payload shows an RPC message, or a part of one. The last part has the whole message.
local function payload(r, p, pinfo, root)
	local tvb
	if p and p.number then
		if r.at < r.tvb:len() then r.tree:add(f.rest, r.tvb:range(r.at)) end
		tvb = p.bytes and p.bytes:len() > 0 and p.bytes:tvb("RPC message, joined")
	else
		tvb = r.at < r.tvb:len() and r.tvb:range(r.at):tvb()
	end
	if tvb and rpc then rpc:call(tvb, pinfo, root) end
end

function proto.dissector(tvb, pinfo, root)
	pinfo.cols.protocol = "RPCoRDMA2"
	local tree = root:add(proto, tvb:range())
	local r = setmetatable({ tvb = tvb, tree = tree, at = 0 }, reader)
	local xid = r:word(tree, f.xid)
	r:word(tree, f.version)
	if versionError(tvb) then
		r:word(tree, f.credit1)
		r:word(tree, f.type)
		tree:add(f.form1, tvb:range(16, 0))
		pinfo.cols.info = "RDMA2_ERROR " .. r:error() .. " in the form of version 1"
		return tvb:len()
	end
	tree:add(f.ceiling, tvb:range(8, 2)) -- §4.3.1
	tree:add(f.granted, tvb:range(10, 2))
	r.at = 12
	local type = r:word(tree, f.type)
	local name = types[type] or "header type " .. type
	local flags, item = r:word(tree, f.flags)
	if not flags then
		pinfo.cols.info = name
		return tvb:len()
	end
	local range = tvb:range(16, 4)
	item:add(f.response, range)
	item:add(f.more, range)
	item:add(f.undefined, range)
	if flags > 3 then item:add_proto_expert_info(expert.flag) end
	local response, more = flags % 2 == 1, math.floor(flags / 2) % 2 == 1
	local info = name .. (response and " RESPONSE" or "") .. (more and " MORE" or "") .. string.format(" xid 0x%08x", xid)

	local p
	if type == 0 then
		r:lists()
		if not r.failed then p = part(tvb, pinfo, xid, type, more, r.at) end
	elseif type == 1 then
		if r:lists() then
			tree:add(f.grant, tvb:range(20, 16))
			info = info .. ", grants " .. tvb(10, 2):uint()
		elseif not r.failed then
			p = part(tvb, pinfo, xid, type, more)
		end
	elseif type == 4 then
		info = info .. ", " .. r:error()
	elseif type == 5 then
		r:properties()
		if not r.failed then p = part(tvb, pinfo, xid, type, more) end
	elseif tvb:len() > 20 then
		tree:add(f.body, tvb:range(20))
	end
	if p and p.inside then
		tree:add_proto_expert_info(expert.inside)
	elseif p then
		tree:add(f.part, tvb:range(16, 4), p.number)
		if p.last then tree:add(f.last, tvb:range(16, 4)) end
		info = info .. ", part " .. p.number .. (p.last and ", the last" or "")
	end
	if (type == 1 or type == 5) and not r.failed and r.at < tvb:len() then
		tree:add_proto_expert_info(expert.trailing)
	end
	pinfo.cols.info = info
	if type == 0 and not r.failed then payload(r, p, pinfo, root) end
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
	elseif tvb:len() < 20 or not types[tvb(12, 4):uint()] or tvb(16, 4):uint() > 3 then
		return false
	end
	proto.dissector(tvb, pinfo, root)
	return true
end)
