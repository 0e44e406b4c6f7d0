package main

var v2Tests = []string{"rdmaio/internal/v2"}

const (
	v2DecodeFile   = "rdmaio/internal/v2/decode.go"
	v2AccountFile  = "rdmaio/internal/v2/account.go"
	v2EncodeFile   = "rdmaio/internal/v2/encode.go"
	v2PropertyFile = "rdmaio/internal/v2/properties.go"
)

// v2Mutants are in the headers, the properties and the use of credits of version 2.
var v2Mutants = []mutant{
	{"28 bytes are ERR_VERS at any time", v2DecodeFile, "if first && v.cfg.Dialed && len(b)", "if v.cfg.Dialed && len(b)", v2Tests},
	{"28 bytes are ERR_VERS at the end that accepted", v2DecodeFile, "if first && v.cfg.Dialed && len(b)", "if first && len(b)", v2Tests},
	{"MORE with an empty reply chunk is accepted", v2DecodeFile, "case m.More && !empty:", "case m.More && len(m.Reads)+len(m.Writes)+len(m.Reply) > 0:", v2Tests},
	{"the flags are judged before the header type", v2DecodeFile, "	allowed := uint32(baseFlags)\n", "	allowed := uint32(baseFlags)\n	if flags&^(allowed|0x100) != 0 {\n		return &header.Fault{Code: header.FaultFlags, Found: uint64(flags), Want: uint64(allowed)}\n	}\n", v2Tests},
	{"a grant keeps its XID", v2DecodeFile, "			m.XID = 0\n", "			m.XID += 0\n", v2Tests},
	{"the key of a Call need not be one of its handles", v2DecodeFile, "case key != 0 && !m.HasKey(key):", "case false:", v2Tests},
	{"a faulty message keeps its lists", v2DecodeFile, "		m.Lists.Reset()\n", "", v2Tests},
	{"ERR_VERS is sent with a flags word", v2EncodeFile, "if m.Kind == header.KindError && m.Err.Code == header.ErrVers {", "if false {", v2Tests},
	{"NOMSG is sent with MORE", v2EncodeFile, "if m.More && (m.Kind == header.KindMsg || m.Kind == header.KindProps) {", "if m.More {", v2Tests},
	{"a Call is looked up among ours", "rdmaio/internal/v2/classify.go", "	return direction(m)\n}\n\n", "	if end.Calls.Outstanding(m.XID) {\n		return protocol.Answer\n	}\n	return direction(m)\n}\n\n", v2Tests},
	{"a set is applied up to its first fault", v2PropertyFile, "	peer := DefaultProperties()\n", "	peer := DefaultProperties()\n	defer func() {\n		v.peer = peer.bounded()\n	}()\n", v2Tests},
	{"a later set changes the terms", v2PropertyFile, "	if !v.learned {\n", "	if true {\n", v2Tests},
	{"a property of the default value may be in a set twice", v2PropertyFile, "if p.ID >= rpcrdma2.PropIDMaxSendSize && p.ID", "if len(p.Data) > 0 && p.ID >= rpcrdma2.PropIDMaxSendSize && p.ID", v2Tests},
	{"the first message may have 4096 bytes", v2PropertyFile, "		if !heard { // R42, R190\n", "		if false {\n", v2Tests},
	{"a peer may lower the inline threshold below the minimum", v2PropertyFile, "p.ReceiveSize = min(max(p.ReceiveSize, LeastInline), math.MaxInt32)", "p.ReceiveSize = min(p.ReceiveSize, math.MaxInt32)", v2Tests},
	{"a message beyond the credits is accepted", v2AccountFile, "	if !a.Taken(class) {", "	if !a.Taken(class, m.Credit) && class == credit.Grant {", v2Tests},
	{"the word of a message of another version grants", v2AccountFile, " || f.Code == header.FaultVersion) {", ") {", v2Tests},
	{"the word of an invalid message does not grant", v2AccountFile, "if f != nil && (f.Code == header.FaultShort || f.Code == header.FaultVersion) {", "if f != nil {", v2Tests},
	{"a grant is a message like any other", v2AccountFile, "		class = credit.Grant\n", "", v2Tests},
	{"reverse Calls have the server's level", v2PropertyFile, "		t.Reverse = reverse(own.Reverse)\n", "", v2Tests},
}
