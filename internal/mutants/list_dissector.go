package main

const (
	dissectorFolder = "cmd/xdrgen/internal/dissector/"
	luaValues       = dissectorFolder + "lua/values.lua"
	luaPlaced       = dissectorFolder + "lua/placed.lua"
	luaRPC          = dissectorFolder + "lua/rpc.lua"
	luaHeaders      = dissectorFolder + "lua/headers.lua"
)

var dissectorTests = []string{"cmd/xdrgen/internal/dissector"}

// dissectorMutants are in the dissectors for Wireshark.
var dissectorMutants = []mutant{
	{"a dissector shows values of any depth", luaValues, "if self.depth > mostDepth then", "if self.depth > 1000 * mostDepth then", dissectorTests},
	{"a dissector shows any number of values", luaValues, "if self.values > mostValues then", "if self.values > 100 * mostValues then", dissectorTests},
	{"a dissector does not look at padding", luaValues, "\t\tif b ~= 0 then\n", "\t\tif b > 255 then\n", dissectorTests},
	{"a dissector shows lengths above the bound", luaValues, "\tif n > max then\n", "\tif n > max + 0x100000000 then\n", dissectorTests},
	{"a fault in a dissector is an error of Lua", luaValues, "type(e) ~= \"table\" or not e.fault", "type(e) ~= \"table\" or e.fault", dissectorTests},
	{"bytes after a value are not noticed", luaValues, "self.at < self.stop and not self.loose", "self.at < self.stop and false", dissectorTests},
	{"a segment's first Write is all of it", luaPlaced, "data, next = data .. w.data, next + #w.data end", "data = data end", dissectorTests},
	{"the payload of a Write has the CRC, too", luaPlaced, "stop = math.min(stop, at + tvb(at - 2, 2):uint())", "stop = stop", dissectorTests},
	{"data that RDMA has placed are looked for in the message", luaRPC, "inside.chunks = m.chunks", "inside.chunks = nil", dissectorTests},
	{"data of a Read belong to the memory that they go to", luaPlaced, "local from = r.from + (offset - r.to)", "local from = offset", dissectorTests},
	{"a Read's first part is all of it", luaPlaced, "data, next = data .. w.data, next + #w.data\n", "data, next = data .. w.data, next\n", dissectorTests},
	{"later Read chunks are looked for without the first", luaValues, "self.inserted = self.inserted + first.length + -first.length % 4", "self.inserted = self.inserted + 0", dissectorTests},
	{"elements that RDMA has placed are looked for in the message", luaValues, "	local data = r:taken(p, n)\n", "	local data = nil\n", dissectorTests},
	{"a Reply has no Call", luaRPC, "if reply then src, dst, from, to = dst, src, to, from end", "", dissectorTests},
	{"a Call that is sent again is a new one", luaRPC, "if before and before.bytes == call.bytes then", "if before and before.bytes ~= call.bytes then", dissectorTests},
	{"an XID that is used again is a Call sent again", luaRPC, "call.bytes = pinfo.number, pinfo.rel_ts - call.time, nil", "call.unused = pinfo.number, pinfo.rel_ts - call.time, nil", dissectorTests},
	{"a Call with other arguments is sent again", luaRPC, "math.min(m.stop - m.at, mostCompared)", "math.min(m.stop - m.at, 40)", dissectorTests},
	{"programs that Wireshark knows are shown", luaRPC, "program.known and not proto.prefs.known", "program.known and false", dissectorTests},
	{"data with integrity begin with the sequence number", luaRPC, "r.at + 4, r.at + n)", "r.at, r.at + n)", dissectorTests},
	{"a dissector has the last of several names for a number", dissectorFolder + "schema.go", "if !seen[m.Value] {", "if true {", dissectorTests},
	{"the type of a default is void", dissectorFolder + "schema.go", "\",default=%d\", index[arms.Other]", "\",default=%d\", 0*index[arms.Other]", dissectorTests},
	{"a call's capture over TCP has both directions exchanged", "cmd/rpcrdma/remote.go", "Initiator: true, Now: time.Now}), cfg)", "Initiator: false, Now: time.Now}), cfg)", []string{"cmd/rpcrdma"}},
	{"a malformed RPC message fails the dissector of headers", luaHeaders, "pcall(rpc.call, rpc, message, pinfo, root)", "rpc:call(message, pinfo, root)", dissectorTests},
	{"data of an error are not looked for", luaHeaders, "r.error.of == types[h.of.place.t.ref] and r.error.place", "r.error.of == nil and r.error.place", dissectorTests},
	{"every header type has a payload", luaHeaders, "		r.loose = h.of.payload\n", "		r.loose = true\n", dissectorTests},
	{"an unknown header type ends early", luaHeaders, "			r.at = r.stop\n			return\n", "			return\n", dissectorTests},
	{"a unit with programs has headers", dissectorFolder + "dissector.go", "	if m == nil || slices.ContainsFunc(", "	if m == nil || !slices.ContainsFunc(", []string{"cmd/xdrgen"}},
	{"the data of a property are not decoded", luaValues, "			if code and shown[n.data] then inner(", "			if code and not code.t and shown[n.data] then inner(", dissectorTests},
}
