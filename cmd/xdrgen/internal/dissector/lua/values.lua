-- Wireshark's protocol, and its fields. A protocol of Wireshark may have the name already.
local description = prefix and "RPC-over-RDMA version 2" or unit.name:upper() .. " (XDR)"
local made, proto = pcall(Proto, unit.name, description)
if not made then
	unit.name = unit.name .. "_xdr"
	proto = Proto(unit.name, description .. (prefix and " (XDR)" or ""))
end

local all, used = {}, {}

-- declare returns a field of Wireshark: make is a function of ProtoField.
local function declare(make, abbreviation, ...)
	abbreviation = unit.name .. "." .. abbreviation
	while used[abbreviation] do abbreviation = abbreviation .. "_" end
	used[abbreviation] = true
	local f = make(abbreviation, ...)
	all[#all + 1] = f
	return f
end

local plain = { bool = ProtoField.bool, int = ProtoField.int32, uint = ProtoField.uint32, hyper = ProtoField.int64,
	uhyper = ProtoField.uint64, float = ProtoField.float, double = ProtoField.double, fixed = ProtoField.bytes,
	opaque = ProtoField.bytes, string = ProtoField.string }

-- place returns where a value of a type is shown: a field of Wireshark for it, and places for its
-- elements. What a struct or union has inside is with the type.
local function place(abbreviation, label, t)
	local p = { t = t, label = label, abbreviation = abbreviation }
	local kind = t.k == "ref" and types[t.ref] or t
	if t.k == "array" or t.k == "vector" or t.k == "list" or t.k == "optional" then
		local inner = (t.of.k == "array" or t.of.k == "vector" or t.of.k == "list" or t.of.k == "optional") and ".item" or ""
		if t.k == "optional" then
			p.present = declare(ProtoField.bool, abbreviation .. ".present", label .. ", present")
		else
			p.count = declare(ProtoField.uint32, abbreviation .. ".count", label)
		end
		p.of = place(abbreviation .. inner, label, t.of)
	elseif kind.k == "enum" then
		p.f = declare(ProtoField.int32, abbreviation, label, base.DEC, kind.names)
	elseif kind.k == "struct" or kind.k == "union" then
		p.f = declare(ProtoField.none, abbreviation, label)
	elseif kind.k ~= "typedef" then
		local hex = kind.k == "uint" and (label == "xid" or label:find("_xid$"))
		p.f = declare(plain[kind.k], abbreviation, label, hex and base.HEX or nil)
	end
	return p
end

local function places(of, fields)
	local out = {}
	for i, field in ipairs(fields) do out[i] = place(of .. "." .. field[1], field[1], field[2]) end
	return out
end

local function sorted(t)
	local keys = {}
	for k in pairs(t) do keys[#keys + 1] = k end
	table.sort(keys)
	return keys
end

for _, name in ipairs(sorted(types)) do
	local t = types[name]
	t.name = name
	if t.k == "typedef" then t.place = place(name, name, t.of) end
	if t.fields then t.places = places(name, t.fields) end
	if t.disc then t.discriminant = place(name .. "." .. t.disc[1][1], t.disc[1][1], t.disc[1][2]) end
end
for _, space in ipairs(sorted(codes)) do
	for _, number in ipairs(sorted(codes[space])) do
		local code = codes[space][number]
		if code.t then code.place = place(space .. "." .. code.name, code.name, code.t) end
	end
end

local undecoded = declare(ProtoField.bytes, "undecoded", "Not decoded")

-- The faults of xdrgen dump.
local faults = {}
for _, f in ipairs({
	{ "short", "The message ends within a value" }, { "trailing", "Bytes after the value" },
	{ "bool", "A boolean that is neither 0 nor 1" }, { "padding", "A padding byte that is not zero" },
	{ "bound", "A length above the bound" }, { "enum", "A number that is not a member of the enum" },
	{ "union", "A discriminant without an arm" }, { "depth", "Nested too deeply" },
	{ "memory", "Too many values to show" },
}) do
	faults[f[1]] = ProtoExpert.new(unit.name .. ".fault." .. f[1], f[2], expert.group.MALFORMED, expert.severity.ERROR)
end

-- Limits of what is shown of a message: the depth of recursive types, the levels of the tree, which
-- Wireshark bounds at 500, and the values.
local mostDepth, mostLevels, mostValues = 128, 400, 50000

-- A reader decodes the values of a message from at to stop. open has the items that are not
-- complete, outermost first, and notes what the column Info shows.
local reader = {}
reader.__index = reader

local function newReader(tvb, at, stop)
	return setmetatable({ tvb = tvb, at = at, stop = stop, open = {}, values = 0, depth = 0, notes = {}, size = 0 }, reader)
end

-- fault ends the decoding. run has the note.
function reader:fault(code, ...)
	error({ fault = code, text = string.format(...) }, 0)
end

function reader:need(n)
	local left = self.stop - self.at
	if n > left then self:fault("short", "found %d bytes before the end, expected %.0f", left, n) end
end

function reader:word()
	self:need(4)
	self.at = self.at + 4
	return self.tvb(self.at - 4, 4):uint()
end

-- safe returns a text without characters that a terminal or a window might act upon, and not too
-- long.
local function safe(s)
	local cut = #s > 40 and s:sub(1, 40) .. "..." or s
	return (cut:gsub("[^\32-\126]", function(c) return string.format("\\x%02x", c:byte()) end))
end

-- note adds a value to the column Info, if it is one of the first.
function reader:note(label, text)
	if self.size > 90 then return end
	local s = label .. "=" .. text
	self.notes[#self.notes + 1] = s
	self.size = self.size + #s
end

-- begin adds an item for a value whose end is not known yet.
function reader:begin(tree, field, ...)
	if #self.open >= mostLevels then self:fault("depth", "nested deeper than %d", mostLevels) end
	local item
	if field then
		item = tree:add(field, self.tvb:range(self.at, math.min(1, self.stop - self.at)), ...)
	else
		item = tree:add(self.tvb:range(self.at, math.min(1, self.stop - self.at)), ...)
	end
	self.open[#self.open + 1] = { item = item, at = self.at }
	return item
end

function reader:finish()
	local top = table.remove(self.open)
	top.item:set_len(math.max(self.at - top.at, 0))
end

-- scalar shows a value of n bytes, and returns its range and item.
function reader:scalar(tree, p, n, index, encoding)
	local range = self.tvb:range(self.at, n)
	local item
	if encoding then item = tree:add_packet_field(p.f, range, encoding) else item = tree:add(p.f, range) end
	if index then item:prepend_text("[" .. index .. "] ") end
	return range, item
end

-- bytes shows opaque data or a string of n bytes, whose padding is checked.
function reader:bytes(tree, p, n, index, text)
	local padded = n + -n % 4
	self:need(padded)
	for i = self.at + n, self.at + padded - 1 do
		local b = self.tvb(i, 1):uint()
		if b ~= 0 then
			self.at = i
			self:fault("padding", "found padding byte 0x%02x, expected 0", b)
		end
	end
	local item
	if n == 0 then
		item = tree:add(p.f, self.tvb:range(self.at, 0))
		item:set_text((index and "[" .. index .. "] " or "") .. p.label .. ": <EMPTY>")
		self:note(p.label, text and '""' or "0 bytes")
	else
		local range
		range, item = self:scalar(tree, p, n, index, text and ENC_UTF_8 + ENC_STRING or ENC_NA)
		if text then
			self:note(p.label, '"' .. safe(range:range(0, math.min(n, 41)):raw()) .. '"')
		else
			self:note(p.label, n .. (n == 1 and " byte" or " bytes"))
		end
	end
	self.at = self.at + padded
	return item
end

-- present reads a boolean or presence word (RFC 4506 §4.4).
function reader:present()
	local n = self:word()
	if n > 1 then
		self.at = self.at - 4
		self:fault("bool", "found %d, expected 0 or 1", n)
	end
	return n == 1
end

function reader:count(max, what)
	local n = self:word()
	if n > max then
		self.at = self.at - 4
		self:fault("bound", "found a count of %d %s, expected at most %.0f", n, what, max)
	end
	return n
end

local decode = {}

-- value shows a value at a place, and returns the number that it is, and its item. index is that of
-- an element.
function reader:value(tree, p, index)
	self.values = self.values + 1
	if self.values > mostValues then self:fault("memory", "found more than %d values", mostValues) end
	local t = p.t.k == "ref" and types[p.t.ref] or p.t
	if not t.rec then return decode[t.k](self, tree, p, t, index) end
	self.depth = self.depth + 1
	if self.depth > mostDepth then self:fault("depth", "nested deeper than %d", mostDepth) end
	local number, item = decode[t.k](self, tree, p, t, index)
	self.depth = self.depth - 1
	return number, item
end

local function fixedSize(n, read)
	return function(r, tree, p, t, index)
		r:need(n)
		local range, item = r:scalar(tree, p, n, index)
		r.at = r.at + n
		local number = read(range)
		r:note(p.label, tostring(number))
		return number, item
	end
end

decode.int = fixedSize(4, function(range) return range:int() end)
decode.uint = fixedSize(4, function(range) return range:uint() end)
decode.hyper = fixedSize(8, function(range) return range:int64() end)
decode.uhyper = fixedSize(8, function(range) return range:uint64() end)
decode.float = fixedSize(4, function(range) return range:float() end)
decode.double = fixedSize(8, function(range) return range:float() end)

function decode.bool(r, tree, p, t, index)
	local is = r:present()
	r.at = r.at - 4
	local _, item = r:scalar(tree, p, 4, index)
	r.at = r.at + 4
	r:note(p.label, is and "TRUE" or "FALSE")
	return is and 1 or 0, item
end

function decode.enum(r, tree, p, t, index)
	r:need(4)
	local n = r.tvb(r.at, 4):int()
	local name = t.names[n]
	if not name and not t.open then r:fault("enum", "found %d, which is not a member of enum %s", n, t.name) end
	local _, item = r:scalar(tree, p, 4, index)
	r.at = r.at + 4
	r.status = r.status or name or tostring(n)
	r:note(p.label, name or tostring(n))
	return n, item
end

function decode.fixed(r, tree, p, t, index)
	if t.n == 0 then return end
	return nil, r:bytes(tree, p, t.n, index)
end

-- taken returns the data that RDMA has placed for the item of n bytes or elements at hand, true if the
-- capture does not have them, or nil. chunks has those of results, in order, and reads those of
-- arguments by their position in the whole message (RFC 8166 §3.4.5, §4.3).
function reader:taken(p, n)
	if n > 0 and self.chunks and self.chunks.of[p.abbreviation] then
		local data = table.remove(self.chunks, 1)
		return data ~= "" and data or nil
	end
	local first = n > 0 and self.reads and self.reads[1]
	if not first or first.position ~= self.at - self.start + self.inserted then return nil end
	table.remove(self.reads, 1)
	self.inserted = self.inserted + first.length + -first.length % 4
	return first.data
end

-- placed shows data that RDMA has placed instead of data in the message, and reports whether there are
-- such data.
function reader:placed(tree, p, n, index, text)
	local data = self:taken(p, n)
	if not data then return false end
	local missing = data == true or #data < n
	local item
	if missing then
		item = tree:add(self.tvb:range(self.at - 4, 4), p.label .. ": " .. n .. " bytes, placed by RDMA, not in the capture")
	else
		local range = ByteArray.new(data, true):tvb("Placed by RDMA"):range(0, n)
		item = text and tree:add_packet_field(p.f, range, ENC_UTF_8 + ENC_STRING) or tree:add(p.f, range)
		item:append_text(" [placed by RDMA]")
	end
	if index then item:prepend_text("[" .. index .. "] ") end
	self:note(p.label, n .. " bytes placed by RDMA")
	return true
end

function decode.opaque(r, tree, p, t, index)
	local n = r:count(t.max, "bytes")
	if not r:placed(tree, p, n, index) then return nil, r:bytes(tree, p, n, index) end
end

function decode.string(r, tree, p, t, index)
	local n = r:count(t.max, "bytes")
	if not r:placed(tree, p, n, index, true) then return nil, r:bytes(tree, p, n, index, true) end
end

-- elements shows n elements.
function reader:elements(tree, p, n)
	for i = 0, n - 1 do self:value(tree, p.of, i) end
end

function decode.vector(r, tree, p, t, index)
	local item = r:begin(tree, p.count, t.n):set_generated()
	if index then item:prepend_text("[" .. index .. "] ") end
	r:elements(item, p, t.n)
	r:finish()
	return nil, item
end

function decode.array(r, tree, p, t, index)
	local n = r:count(t.max, "elements")
	r.at = r.at - 4
	local item = r:begin(tree, p.count, n)
	r.at = r.at + 4
	if index then item:prepend_text("[" .. index .. "] ") end
	r:note(p.label, n .. (n == 1 and " element" or " elements"))
	local data = r:taken(p, n)
	if data == true then
		item:append_text(", placed by RDMA, not in the capture")
	elseif data then
		item:append_text(" [placed by RDMA]")
		local i = newReader(ByteArray.new(data, true):tvb("Placed by RDMA"), 0, #data)
		i.values, i.depth = r.values, r.depth
		i:elements(item, p, n)
		r.values = i.values
	else
		r:elements(item, p, n)
	end
	r:finish()
	return nil, item
end

-- A linked list is shown as an array (RFC 4506 §4.19).
function decode.list(r, tree, p, t, index)
	local item = r:begin(tree, nil, p.label)
	if index then item:prepend_text("[" .. index .. "] ") end
	local n = 0
	while n == 0 and t.head or r:present() do
		r:value(item, p.of, n)
		n = n + 1
	end
	item:append_text(": " .. n .. (n == 1 and " element" or " elements"))
	item:add(p.count, r.tvb:range(r.at - 4, 4), n):set_generated()
	r:note(p.label, n .. (n == 1 and " element" or " elements"))
	r:finish()
	return nil, item
end

function decode.optional(r, tree, p, t, index)
	r:need(4)
	local at = r.at
	local is = r:present()
	local item = tree:add(p.present, r.tvb:range(at, 4))
	if index then item:prepend_text("[" .. index .. "] ") end
	if is then return r:value(tree, p.of) end
end

function decode.typedef(r, tree, p, t, index) return r:value(tree, t.place, index) end

-- inner shows a value in opaque data whose type a number selects.
local function inner(r, data, code, default)
	local range = data.item and data.stop > data.at and r.tvb:range(data.at, data.stop - data.at)
	if not range then
		if default and data.item then data.item:append_text(", the default value") end
		return
	end
	local i = newReader(r.tvb, data.at, data.stop)
	i.values, i.depth = r.values, r.depth + 1
	i:run(data.item, function()
		if i.depth > mostDepth then i:fault("depth", "opaque data in opaque data nested deeper than %d", mostDepth) end
		if code.place then i:value(data.item, code.place) end
	end)
	if data.note and #i.notes > 0 then r.notes[data.note] = table.concat(i.notes, ", ") end
	r.values = i.values
end

-- numbers adds what the code points say of the fields of a struct or union, and the values in its
-- opaque data.
local function numbers(r, t, shown)
	for _, n in ipairs(t.numbers) do
		local field, space = shown[n.field], codes[n.space] or {}
		local number = field and tonumber(field.number)
		if number and n.space == "flag" then
			local set = {}
			for _, bit in ipairs(sorted(space)) do
				if math.floor(number / bit) % 2 == 1 then set[#set + 1] = space[bit].name end
			end
			field.item:append_text(" (" .. (#set > 0 and table.concat(set, " | ") or "no flags") .. ")")
		elseif number then
			local code = space[number % 0x100000000]
			field.item:append_text(code and " (" .. code.name .. ")" or " (unknown " .. n.space .. ")")
			if code and field.note then r.notes[field.note] = n.field .. "=" .. code.name end
			if code and n.space == "error" and n.data == "" then r.error = { of = t, place = code.place } end
			if code and shown[n.data] then inner(r, shown[n.data], code, n.default) end
		end
	end
end

-- field shows a field, and keeps what numbers needs.
local function field(r, tree, p, shown)
	local at, notes = r.at, #r.notes
	local number, item = r:value(tree, p)
	if shown then
		local n = p.t.k == "opaque" and r.tvb(at, 4):uint() or 0
		shown[p.label] = { number = number, item = item, at = at + 4, stop = at + 4 + n, note = #r.notes > notes and notes + 1 or nil }
	end
	return number
end

function decode.struct(r, tree, p, t, index)
	local item = r:begin(tree, p.f)
	if index then item:prepend_text("[" .. index .. "] ") end
	local shown = t.numbers and {}
	for _, f in ipairs(t.places) do field(r, item, f, shown) end
	r:finish()
	if shown then numbers(r, t, shown) end
	return nil, item
end

function decode.union(r, tree, p, t, index)
	local item = r:begin(tree, p.f)
	if index then item:prepend_text("[" .. index .. "] ") end
	local at = r.at
	local shown = t.numbers and {}
	local number = field(r, item, t.discriminant, shown)
	local arm = t.arms[number] or t.default
	if not arm then
		r.at = at
		r:fault("union", "found %s, for which union %s has no arm", tostring(number), t.name)
	end
	if arm > 0 then field(r, item, t.places[arm], shown) end
	r:finish()
	if shown then numbers(r, t, shown) end
	return nil, item
end

-- run decodes by a function, which shows values in a tree. Then it shows the fault, if there is one,
-- and the bytes that are left.
function reader:run(tree, f)
	local right, e = pcall(f)
	if not right and (type(e) ~= "table" or not e.fault) then error(e, 0) end
	if right and self.at < self.stop and not self.loose then
		local n = self.stop - self.at
		e = { fault = "trailing", text = string.format("found %d bytes after the value, expected the end", n) }
		right = false
	end
	if not right then
		for _, top in ipairs(self.open) do top.item:set_len(math.max(self.at - top.at, 0)) end
		local at = self.open[#self.open] and self.open[#self.open].item or tree
		self.open = {}
		at:add_proto_expert_info(faults[e.fault], e.text)
		self.broken = e.fault
		if self.at < self.stop then tree:add(undecoded, self.tvb:range(self.at, self.stop - self.at)) end
	end
	return right
end
