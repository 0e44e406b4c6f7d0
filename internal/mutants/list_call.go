package main

var callTests = []string{"cmd/rpcrdma", "cmd/internal/dynamic"}

// callMutants are in rpcrdma call and info, and in the values that they use.
var callMutants = []mutant{
	{"a value of a flag is not proposed for a wrong flag", "internal/cli/unknown.go", `if f.Enum != "" && slices.Contains(f.EnumSlice(), word) {`, `if f.Enum != "" && slices.Contains(f.EnumSlice(), "-"+word) {`, []string{"internal/cli"}},
	{"a flag of another command has no hint", "internal/cli/unknown.go", "if c.Name != command && len(exactly(c, word)) > 0 {", "if c.Name == command && len(exactly(c, word)) > 0 {", []string{"internal/cli"}},
	{"a flag of one letter is not proposed", "internal/spelling/flag.go", "case len(word) > 1 && known[word[:1]]:", "case len(word) > 99 && known[word[:1]]:", []string{"internal/spelling"}},
	{"padding that another form may own is cut", "cmd/rpcrdma/setup.go", "if len(bytes.Trim(b[n:], \"\\x00\")) > 0 {", "if n == 0 && len(bytes.Trim(b, \"\\x00\")) > 0 {", callTests},
	{"zeros are cut from private data that no device pads", "cmd/rpcrdma/setup.go", "if d.Attributes().PaddedPrivateData {", "if true {", callTests},
	{"info asks the hosts that rpcbind names", "cmd/rpcrdma/info.go", "case at.Addr() == server, at.Addr().IsUnspecified()", "case true, at.Addr().IsUnspecified()", callTests},
	{"info asks all services", "cmd/rpcrdma/info.go", "if asked++; asked > maxServices {", "if asked++; asked > 1<<20 {", callTests},
	{"texts of rpcbind reach the terminal", "cmd/rpcrdma/infoprint.go", "	if len(s) > most || strings", "	if len(s) > 1<<20 && strings", callTests},
	{"a failed call cannot have run", "cmd/rpcrdma/call.go", "errors.As(err, &failed) && failed.MayHaveRun\n", "errors.As(err, &failed) && failed == nil\n", callTests},
	{"eligible arguments stay in the message", "cmd/rpcrdma/payload.go", "if !codec.Reduces(e, s, len(data)) {", "if true {", callTests},
	{"bytes after the results are taken", "cmd/rpcrdma/call.go", "dynamic.DecodeAll(res.body,", "dynamic.Decode(res.body,", callTests},
	{"the plaintext of -tls wanted is not reported", "cmd/rpcrdma/remote.go", "conn.Peer().TLS == nil {", "conn.Peer().TLS != nil {", callTests},
	{"an item has its padding", "cmd/internal/dynamic/procedure.go", "item.End = item.Start + len(c.Bytes)", "item.End = c.Offset + c.Length", callTests},
	{"items of results are those of arguments", "cmd/internal/dynamic/procedure.go", "return b.Reply || b.Prog", "return b.Prog", callTests},
}
