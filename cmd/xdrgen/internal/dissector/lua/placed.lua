-- Data that RDMA has placed: the payloads of RDMA Writes in iWARP, and in RDMATCP, which rdmatcp.lua
-- shows as iWARP. A write list of a Reply says which of them belong to it (RFC 8166 §3.4).
local stags, headers = Field.new("iwarp_ddp.stag"), { Field.new("rpcordma.xid") }

-- The dissector of version 2 is another script, which may be missing.
do
	local found, field = pcall(Field.new, "rpcrdma2.rpcrdma_common.rdma_xid")
	if found then headers[2] = field end
end

-- The payloads by the key of their memory, and their sum in bytes, of which there is a limit.
local written, kept, mostKept = {}, 0, 256 * 1024 * 1024

local function memory(from, to, handle) return tostring(from) .. " " .. tostring(to) .. " " .. handle end

-- writes keeps the RDMA Writes in a packet that is read for the first time.
local function writes(pinfo)
	for _, stag in ipairs({ stags() }) do
		local tvb, at = stag.source, stag.offset - 2 -- of the control fields of DDP and RDMAP
		local stop = tvb and tvb:len() or 0
		-- In iWARP the length is before them (RFC 5044 §4), in RDMATCP there is nothing.
		if at >= 2 then stop = math.min(stop, at + tvb(at - 2, 2):uint()) end
		if at >= 0 and at + 14 <= stop and tvb(at + 1, 1):uint() % 16 == 0 and kept < mostKept then
			local key = memory(pinfo.src, pinfo.dst, tvb(at + 2, 4):uint())
			written[key] = written[key] or {}
			local list = written[key]
			list[#list + 1] = { offset = tvb(at + 6, 8):bytes():tohex(), frame = pinfo.number, data = tvb(at + 14, stop - at - 14):raw() }
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

-- writeList reads a header of RDMA_MSG. It returns for each chunk of the write list the data, true if
-- the capture does not have them, or "" if the chunk is empty; and where the RPC message begins.
local function writeList(pinfo, r)
	r.at = r.at + 4
	local version = r:word()
	r.at = r.at + 4
	if r:word() ~= 0 then return {} end -- RDMA_MSG
	if version == 2 then r.at = r.at + 8 end -- flags, and the handle to invalidate
	while r:word() == 1 do r.at = r.at + 20 end
	local chunks = {}
	while r:word() == 1 do
		local data = ""
		for _ = 1, r:word() do
			local handle, length = r:word(), r:word()
			r:need(8)
			local part = length > 0 and segment(pinfo, handle, r.tvb(r.at, 8):bytes():tohex(), length) or length == 0 and ""
			r.at = r.at + 8
			data = part and data ~= true and data .. part or true
		end
		chunks[#chunks + 1] = data
	end
	if r:word() == 1 then r.at = r.at + 16 * r:word() end
	return chunks, r.at
end

-- replies returns the Replies in a packet with data that RDMA has placed, by XID. Wireshark 4.0 shows
-- such a Reply twice, or not at all when packets are read again.
local function replies(pinfo)
	local out = {}
	for _, header in ipairs(headers) do
		for _, x in ipairs({ header() }) do
			local stop = x.source and x.source:len() or 0
			-- A Send has 18 bytes before it, and in iWARP the length of all before them.
			if x.offset >= 20 then stop = math.min(stop, x.offset - 18 + x.source(x.offset - 20, 2):uint()) end
			local right, chunks, at = pcall(writeList, pinfo, newReader(x.source, x.offset, stop))
			if not right and (type(chunks) ~= "table" or not chunks.fault) then error(chunks, 0) end
			if right and #chunks > 0 and at + 8 <= stop and x.source(at + 4, 4):uint() == 1 then
				out[x.value] = { tvb = x.source, at = at, stop = stop, whole = true, chunks = chunks }
			end
		end
	end
	return out
end
