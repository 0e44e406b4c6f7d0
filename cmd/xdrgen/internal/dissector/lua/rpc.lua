-- RPC messages (RFC 5531 §9) that Wireshark has found, in TCP, UDP or RPC-over-RDMA. Its tables of
-- programs take no entry of a script, so this reads them after Wireshark has.
set_preference("rpc.dissect_unknown_programs", true)

proto.prefs.known = Pref.bool("Also show programs that Wireshark knows", unit.known, "Wireshark has its own dissectors for NFS and some others")

local directions = { [0] = "Call", [1] = "Reply" }
local accepts = { [0] = "SUCCESS", [1] = "PROG_UNAVAIL", [2] = "PROG_MISMATCH", [3] = "PROC_UNAVAIL", [4] = "GARBAGE_ARGS", [5] = "SYSTEM_ERR" }
local rejects = { [0] = "RPC_MISMATCH", [1] = "AUTH_ERROR" }
local auths = { [0] = "AUTH_OK", [1] = "AUTH_BADCRED", [2] = "AUTH_REJECTEDCRED", [3] = "AUTH_BADVERF", [4] = "AUTH_REJECTEDVERF",
	[5] = "AUTH_TOOWEAK", [6] = "AUTH_INVALIDRESP", [7] = "AUTH_FAILED", [13] = "RPCSEC_GSS_CREDPROBLEM", [14] = "RPCSEC_GSS_CTXPROBLEM" }

local names = {}
for number, program in pairs(programs) do names[number] = program.name end

local f = {
	xid = declare(ProtoField.uint32, "rpc.xid", "XID", base.HEX),
	direction = declare(ProtoField.uint32, "rpc.direction", "Message", base.DEC, directions),
	program = declare(ProtoField.uint32, "rpc.program", "Program", base.DEC, names),
	version = declare(ProtoField.uint32, "rpc.version", "Version"),
	procedure = declare(ProtoField.uint32, "rpc.procedure", "Procedure"),
	name = declare(ProtoField.string, "rpc.procedure.name", "Procedure name"),
	status = declare(ProtoField.string, "rpc.status", "Status"),
	call = declare(ProtoField.framenum, "rpc.call", "Call in", base.NONE, frametype.REQUEST),
	reply = declare(ProtoField.framenum, "rpc.reply", "Reply in", base.NONE, frametype.RESPONSE),
	time = declare(ProtoField.relative_time, "rpc.time", "Time from Call to Reply"),
	again = declare(ProtoField.framenum, "rpc.again", "Sent again, first in"),
}

for _, number in ipairs(sorted(programs)) do
	for _, v in ipairs(sorted(programs[number].versions)) do
		local version = programs[number].versions[v]
		for _, p in ipairs(sorted(version.procs)) do
			local proc = version.procs[p]
			local at = version.name .. "." .. proc.name
			proc.places = places(at .. ".args", proc.args)
			if proc.result then proc.place = place(at .. ".result", "result", proc.result) end
		end
	end
end
proto.fields = all

local refused = ProtoExpert.new(unit.name .. ".refused", "The server did not execute the Call", expert.group.RESPONSE_CODE, expert.severity.WARN)
local undeclared = ProtoExpert.new(unit.name .. ".undeclared", "The XDR file does not declare this procedure", expert.group.UNDECODED, expert.severity.NOTE)
local lost = ProtoExpert.new(unit.name .. ".cut", "The capture has only the beginning of the message", expert.group.UNDECODED, expert.severity.NOTE)
local hidden = ProtoExpert.new(unit.name .. ".protected", "RPCSEC_GSS has encrypted the message", expert.group.UNDECODED, expert.severity.NOTE)
local experts = { refused, undeclared, lost, hidden }
for _, name in ipairs(sorted(faults)) do experts[#experts + 1] = faults[name] end
proto.experts = experts

local foundXID, foundMark, foundData = Field.new("rpc.xid"), Field.new("rpc.fraglen"), Field.new("data.data")

-- The Calls by connection and XID, while packets are read for the first time, and what was found in
-- each packet then.
local calls, seen = {}, {}

function proto.init()
	calls, seen = {}, {}
	written, fetched, asked, kept = {}, {}, {}, 0
end

local function keys(pinfo, xid, reply)
	local src, dst, from, to = tostring(pinfo.src), tostring(pinfo.dst), pinfo.src_port, pinfo.dst_port
	if reply then src, dst, from, to = dst, src, to, from end
	-- In InfiniBand a port is that of one direction.
	return table.concat({ xid, src, from, dst, to }, " "), table.concat({ xid, src, dst }, " ")
end

-- within returns the first of what Wireshark found in a Tvb at an offset.
local function within(found, tvb, at)
	for _, x in ipairs(found) do
		if x.offset == at and x.source and x.source:len() == tvb:len() then return x end
	end
end

-- messages returns the RPC messages in a packet, with what finish needs.
local function messages(pinfo)
	local out, own, data, marks = {}, replies(pinfo), { foundData() }, { foundMark() }
	for _, x in ipairs({ foundXID() }) do
		if x.source and not own[x.value] then
			out[#out + 1] = {
				tvb = x.source, at = x.offset, stop = x.source:len(), data = data,
				mark = within(marks, x.source, x.offset - 4),
			}
		end
	end
	for _, xid in ipairs(sorted(own)) do out[#out + 1] = own[xid] end
	return out
end

-- finish sets where a message ends whose header ends at an offset. Without a record mark, or if the
-- message was joined from fragments, what Wireshark calls data ends there. It has no data of programs
-- that it knows: then the end may be earlier than it seems.
local function finish(m, header, known)
	if m.whole then return end
	local data = within(m.data, m.tvb, header)
	local stop = data and data.offset + data.len
	if not stop and m.mark then stop = m.at + m.mark.value % 0x80000000 end
	m.loose = not stop and known and m.at > 0
	if not stop then stop = (known or m.at == 0) and m.stop or header end
	stop = math.max(stop, header)
	m.cut = stop > m.stop or m.tvb:reported_len() > m.tvb:len()
	m.stop = math.min(stop, m.stop)
end

-- authentication skips a credential or verifier, and returns its flavor and where its body is.
local function authentication(r)
	local flavor, n = r:word(), r:word()
	r:need(n + -n % 4)
	local at = r.at
	r.at = r.at + n + -n % 4
	return flavor, at, n
end

-- protection returns what RPCSEC_GSS does with the arguments of a Call (RFC 2203 §5): nil for
-- nothing, "integrity", "privacy", or "control" if they are not those of the procedure.
local function protection(tvb, flavor, at, n)
	if flavor ~= 6 or n < 16 then return nil end
	if tvb(at + 4, 4):uint() ~= 0 then return "control" end
	local service = tvb(at + 12, 4):uint()
	return service == 2 and "integrity" or service == 3 and "privacy" or nil
end

-- header reads the header of a message, and returns what it says.
local function header(r)
	local h = { xid = r:word(), kind = r:word() }
	if h.kind == 0 then
		if r:word() ~= 2 then return nil end -- RFC 5531 §9: rpcvers
		h.at = r.at
		h.program, h.version, h.procedure = r:word(), r:word(), r:word()
		h.protection = protection(r.tvb, authentication(r))
		authentication(r)
		return h
	elseif h.kind ~= 1 then
		return nil
	end
	if r:word() == 0 then
		h.verifier = authentication(r)
		local stat = r:word()
		h.status, h.success = accepts[stat] or "accept_stat " .. stat, stat == 0
		if stat == 2 then h.status = string.format("%s, versions %d to %d", h.status, r:word(), r:word()) end
	else
		local stat = r:word()
		h.status = rejects[stat] or "reject_stat " .. stat
		if stat == 0 then
			h.status = string.format("%s, versions %d to %d", h.status, r:word(), r:word())
		elseif stat == 1 then
			local auth = r:word()
			h.status = h.status .. ", " .. (auths[auth] or "auth_stat " .. auth)
		end
	end
	return h
end

-- mostCompared is the number of bytes by which Calls with one XID are compared.
local mostCompared = 512

-- pair finds the Call of a Reply, when packets are read for the first time. A Call with the same bytes
-- as one without a Reply was sent again. Any other Call with its XID is another one.
local function pair(m, pinfo, h)
	local exact, loose = keys(pinfo, h.xid, h.kind == 1)
	if h.kind == 0 then
		local call = { frame = pinfo.number, time = pinfo.rel_ts, program = h.program, version = h.version, procedure = h.procedure, protection = h.protection,
			bytes = m.tvb:range(m.at, math.min(m.stop - m.at, mostCompared)):raw() }
		local before = calls[exact]
		if before and before.bytes == call.bytes then
			call.again = before.again or before.frame
		end
		calls[exact], calls[loose] = call, call
		return call
	end
	local call = calls[exact] or calls[loose]
	if call and not call.reply then call.reply, call.took, call.bytes = pinfo.number, pinfo.rel_ts - call.time, nil end
	return call
end

-- unwrap returns a reader of what RPCSEC_GSS protects, or nil if it cannot be read.
local function unwrap(r, tree, how)
	if how == nil then return r end
	if how ~= "integrity" then
		if how == "privacy" then tree:add_proto_expert_info(hidden) end
		return nil
	end
	local n = r:word() -- RFC 2203 §5.3.2.2: the data begin with the sequence number
	r:need(n)
	if n < 4 then return nil end
	return newReader(r.tvb, r.at + 4, r.at + n)
end

local function duration(seconds)
	local whole = math.floor(seconds)
	return NSTime.new(whole, math.floor((seconds - whole) * 1e9 + 0.5))
end

-- body shows the arguments or results, and returns the reader that has read them.
local function body(r, tree, m, pinfo, h, call, proc)
	local inside = r
	if not r:run(tree, function()
		inside = unwrap(r, tree, call.protection)
		r.at = r.stop
	end) then return r end
	if not inside then return r end
	if inside == r then
		inside = newReader(r.tvb, h.body, r.stop)
		inside.loose = r.loose
	end
	local at = math.min(inside.at, inside.tvb:len() - 1)
	local branch = tree:add(inside.tvb:range(at, inside.stop - inside.at), h.kind == 0 and "Arguments" or "Results")
	if proc.placed and m.chunks then
		inside.chunks = m.chunks
		inside.chunks.of = proc.placed
	end
	if m.reads then inside.reads, inside.start, inside.inserted = m.reads, m.at, 0 end
	inside:run(branch, function()
		if h.kind == 1 then
			if proc.place then inside:value(branch, proc.place) end
			return
		end
		for _, p in ipairs(proc.places) do inside:value(branch, p) end
	end)
	return inside
end

-- head shows what the header says, and the packets of Call and Reply.
local function head(tree, m, pinfo, h, call, program, version, proc)
	tree:add(f.xid, m.tvb:range(m.at, 4))
	tree:add(f.direction, m.tvb:range(m.at + 4, 4))
	local function said(field, value, at)
		if h.kind == 0 then tree:add(field, m.tvb:range(h.at + at, 4)) else tree:add(field, m.tvb:range(m.at, 4), value):set_generated() end
	end
	said(f.program, call.program, 0)
	said(f.version, call.version, 4)
	said(f.procedure, call.procedure, 8)
	tree:add(f.name, m.tvb:range(m.at, 4), proc and proc.name or "unknown"):set_generated()
	if h.kind == 0 then
		if call.reply then tree:add(f.reply, m.tvb:range(m.at, 4), call.reply):set_generated() end
		if call.again then tree:add(f.again, m.tvb:range(m.at, 4), call.again):set_generated() end
		return
	end
	local item = tree:add(f.status, m.tvb:range(m.at + 8, 4), h.status)
	if not h.success then item:add_proto_expert_info(refused, "The server did not execute the Call: " .. h.status) end
	tree:add(f.call, m.tvb:range(m.at, 4), call.frame):set_generated()
	if call.reply == pinfo.number then
		tree:add(f.time, m.tvb:range(m.at, 4), duration(call.took)):set_generated()
	end
end

-- show shows a message of one of the programs, and returns the text of the column Info, and the
-- program. It returns nil for other messages.
local function show(m, pinfo, root, index)
	local r = newReader(m.tvb, m.at, m.stop)
	local right, h = pcall(header, r)
	if not right then
		if type(h) == "table" and h.fault then return nil end
		error(h, 0)
	end
	if not h then return nil end
	h.body = r.at
	local program = programs[h.program] -- of a Call
	if program then finish(m, h.body, program.known) end
	local list = seen[pinfo.number] or {}
	seen[pinfo.number] = list
	if not pinfo.visited or list[index] == nil then list[index] = pair(m, pinfo, h) or false end
	local call = list[index]
	program = call and programs[call.program]
	if not program or program.known and not proto.prefs.known then return nil end
	if h.kind == 1 then finish(m, h.body, program.known) end
	r.stop, r.loose = m.stop, m.loose
	local version = program.versions[call.version]
	local proc = version and version.procs[call.procedure]
	local tree = root:add(proto, m.tvb:range(m.at, m.stop - m.at))
	local title = (proc and proc.name or "procedure " .. call.procedure) .. " " .. directions[h.kind]
	tree:set_text(program.name .. ", " .. (version and version.name or "version " .. call.version) .. ", " .. title)
	head(tree, m, pinfo, h, call, program, version, proc)
	local text = (version and version.name or program.name .. " version " .. call.version) .. " " .. title
	if h.kind == 1 and not h.success then return text .. " " .. h.status, program end
	if m.cut then tree:add_proto_expert_info(lost) end
	if not proc then
		tree:add_proto_expert_info(undeclared)
		return text, program
	end
	local inside = body(r, tree, m, pinfo, h, call, proc)
	if #inside.notes > 0 then text = text .. ": " .. table.concat(inside.notes, ", ") end
	if inside.broken then text = text .. " [" .. inside.broken .. "]" end
	return text, program
end

function proto.dissector(tvb, pinfo, root)
	if not pinfo.visited then writes(pinfo) end
	local found, texts, shown = messages(pinfo), {}, nil
	for i, m in ipairs(found) do
		local text, program = show(m, pinfo, root, i)
		if text then
			texts[#texts + 1] = text
			if not program.known then shown = program end
		end
	end
	if not shown then return end
	pinfo.cols.protocol = shown.name
	if #texts == #found then
		pinfo.cols.info:clear_fence()
		pinfo.cols.info = table.concat(texts, "; ")
	else
		pinfo.cols.info:append("; " .. table.concat(texts, "; "))
	end
end

register_postdissector(proto)

-- In iWARP, Wireshark 4.0 passes plain Sends to its dissector of RPC-over-RDMA version 1, but not
-- Sends with Solicited Event, which are passed on here as plain ones (RFC 5040 §4.3, RFC 5041 §4).
local opcode, iwarp = Field.new("iwarp_rdma.opcode"), Dissector.get("iwarp_ddp_rdmap")
local joining = "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send"
proto:register_heuristic("iwarp_ddp_rdmap", function(tvb, pinfo, root)
	local all = { opcode() }
	local last = all[#all]
	if not last or last.value < 5 or last.value > 6 or tvb:len() < 16 or tvb(4, 4):uint() ~= 1 then return false end
	local send = Struct.pack(">BBI4I4I4I4", 0x41, 0x43, 0, 0, pinfo.number, 0) .. tvb:range():raw()
	-- Wireshark has joined the segments of this one. It would take the plain one for another segment.
	local joins = get_preference(joining)
	set_preference(joining, false)
	iwarp:call(ByteArray.new(send, true):tvb("As a plain Send"), pinfo, root)
	set_preference(joining, joins)
	return true
end)

-- Wireshark looks for fields only if someone needs them: a listener with a filter does, so that Calls
-- and Replies are paired when packets are read for the first time.
Listener.new("frame", "rpc.xid")
