-- Data that RDMA has placed: the payloads of RDMA Writes and of Read Responses in iWARP, and in RDMATCP,
-- which rdmatcp.lua shows as iWARP. A write list of a Reply says which Writes belong to it, and a read
-- list of a Call which Reads (RFC 8166 §3.4). Wireshark joins the Reads of version 1.
local sinks, stags, headers = Field.new("iwarp_rdma.sinkstag"), Field.new("iwarp_ddp.stag"), { Field.new("rpcordma.xid") }

-- The dissector of version 2 is another script, which may be missing.
do
	local found, field = pcall(Field.new, "rpcrdma2.rpcrdma_common.rdma_xid")
	if found then headers[2] = field end
end

-- The payloads by the key of their memory, and their sum in bytes, of which there is a limit.
local written, kept, mostKept = {}, 0, 256 * 1024 * 1024

-- The payloads of Read Responses by the key of the memory that was read, and the last Read Requests by
-- the key of the memory that the responses go to.
local fetched, asked, mostAsked = {}, {}, 64

local function memory(from, to, handle) return tostring(from) .. " " .. tostring(to) .. " " .. handle end

local function keep(of, key, item)
	of[key] = of[key] or {}
	local list = of[key]
	list[#list + 1] = item
	return list
end

-- requests keeps the RDMA Read Requests in a packet that is read for the first time (RFC 5040 §4.4).
local function requests(pinfo)
	for _, sink in ipairs({ sinks() }) do
		local tvb, at = sink.source, sink.offset
		if tvb and at + 28 <= tvb:len() and kept < mostKept then
			local list = keep(asked, memory(pinfo.dst, pinfo.src, tvb(at, 4):uint()), {
				to = tvb(at + 4, 8):uint64(), length = tvb(at + 12, 4):uint(), source = tvb(at + 16, 4):uint(), from = tvb(at + 20, 8):uint64(),
			})
			if #list > mostAsked then table.remove(list, 1) end
			kept = kept + 100
		end
	end
end

-- response keeps a part of the response to a Read Request, for the memory that was read.
local function response(pinfo, stag, offset, data)
	local list = asked[memory(pinfo.src, pinfo.dst, stag)] or {}
	for i = #list, 1, -1 do
		local r = list[i]
		if offset >= r.to and offset - r.to < UInt64.new(math.max(r.length, 1)) then
			local from = r.from + (offset - r.to)
			keep(fetched, memory(pinfo.src, pinfo.dst, r.source), { offset = from:tohex(), frame = pinfo.number, data = data })
			return
		end
	end
end

-- writes keeps the RDMA Writes and Read Responses in a packet that is read for the first time.
local function writes(pinfo)
	requests(pinfo)
	for _, stag in ipairs({ stags() }) do
		local tvb, at = stag.source, stag.offset - 2 -- of the control fields of DDP and RDMAP
		local stop = tvb and tvb:len() or 0
		-- In iWARP the length is before them (RFC 5044 §4), in RDMATCP there is nothing.
		if at >= 2 then stop = math.min(stop, at + tvb(at - 2, 2):uint()) end
		if at >= 0 and at + 14 <= stop and kept < mostKept then
			local op, handle = tvb(at + 1, 1):uint() % 16, tvb(at + 2, 4):uint()
			local data = stop > at + 14 and tvb(at + 14, stop - at - 14):raw() or ""
			if op == 0 then
				keep(written, memory(pinfo.src, pinfo.dst, handle), { offset = tvb(at + 6, 8):bytes():tohex():lower(), frame = pinfo.number, data = data })
			elseif op == 2 then
				response(pinfo, handle, tvb(at + 6, 8):uint64(), data)
			end
			kept = kept + stop - at - 14
		end
	end
end

-- segment returns the data of a segment, in which the last Writes before a packet count: its handle,
-- its offset in hex, and its length. It returns nil if the capture does not have all of it.
local function segment(pinfo, handle, offset, length)
	local list, data = written[memory(pinfo.src, pinfo.dst, handle)] or {}, nil
	local next = UInt64.fromhex(offset)
	for _, w in ipairs(list) do
		if w.frame <= pinfo.number then
			if w.offset == offset then data, next = w.data, UInt64.fromhex(offset) + #w.data
			elseif data and UInt64.fromhex(w.offset) == next then data, next = data .. w.data, next + #w.data end
		end
	end
	return data and #data >= length and data:sub(1, length) or nil
end

-- source returns the data of a segment that was read after a packet, as segment does.
local function source(pinfo, handle, offset, length)
	local data, next = "", UInt64.fromhex(offset)
	for _, w in ipairs(fetched[memory(pinfo.src, pinfo.dst, handle)] or {}) do
		if w.frame >= pinfo.number and #data < length and UInt64.fromhex(w.offset) == next then
			data, next = data .. w.data, next + #w.data
		end
	end
	return #data >= length and data:sub(1, length) or nil
end

-- readList reads a read list. It returns for each position the data, or true if the capture does not
-- have them.
local function readList(pinfo, r)
	local list = {}
	while r:word() == 1 do
		local position, handle, length = r:word(), r:word(), r:word()
		r:need(8)
		local data = source(pinfo, handle, r.tvb(r.at, 8):bytes():tohex():lower(), length)
		r.at = r.at + 8
		local last = list[#list]
		if not last or last.position ~= position then
			list[#list + 1] = { position = position, data = data or true, length = length }
		else
			last.data, last.length = data and last.data ~= true and last.data .. data or true, last.length + length
		end
	end
	return list
end

-- writeList reads a header of RDMA_MSG. It returns for each chunk of the write list the data, true if
-- the capture does not have them, or "" if the chunk is empty; where the RPC message begins; and the read
-- list of version 2.
local function writeList(pinfo, r)
	r.at = r.at + 4
	local version = r:word()
	r.at = r.at + 4
	if r:word() ~= 0 then return {} end -- RDMA_MSG
	if version == 2 then r.at = r.at + 8 end -- flags, and the handle to invalidate
	local reads = readList(pinfo, r)
	local chunks = {}
	while r:word() == 1 do
		local data = ""
		for _ = 1, r:word() do
			local handle, length = r:word(), r:word()
			r:need(8)
			local part = length > 0 and segment(pinfo, handle, r.tvb(r.at, 8):bytes():tohex():lower(), length) or length == 0 and ""
			r.at = r.at + 8
			data = part and data ~= true and data .. part or true
		end
		chunks[#chunks + 1] = data
	end
	if r:word() == 1 then r.at = r.at + 16 * r:word() end
	return chunks, r.at, version == 2 and reads or {}
end

-- replies returns the Replies in a packet with data that RDMA has placed, and the Calls of version 2
-- whose arguments RDMA reads later, by XID. Wireshark 4.0 shows
-- such a Reply twice, or not at all when packets are read again.
local function replies(pinfo)
	local out = {}
	for _, header in ipairs(headers) do
		for _, x in ipairs({ header() }) do
			local stop = x.source and x.source:len() or 0
			-- A Send has 18 bytes before it, and in iWARP the length of all before them.
			if x.offset >= 20 then stop = math.min(stop, x.offset - 18 + x.source(x.offset - 20, 2):uint()) end
			local right, chunks, at, reads = pcall(writeList, pinfo, newReader(x.source, x.offset, stop))
			if not right and (type(chunks) ~= "table" or not chunks.fault) then error(chunks, 0) end
			if right and reads and #reads > 0 and at + 8 <= stop and x.source(at + 4, 4):uint() == 0 then
				out[x.value] = { tvb = x.source, at = at, stop = stop, whole = true, reads = reads }
			elseif right and #chunks > 0 and at + 8 <= stop and x.source(at + 4, 4):uint() == 1 then
				out[x.value] = { tvb = x.source, at = at, stop = stop, whole = true, chunks = chunks }
			end
		end
	end
	return out
end
