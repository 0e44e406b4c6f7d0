package archtest

// Row lists the imports that packages may have whose path matches Package. Patterns are paths
// from the module's root: * stands for one element, a final /... for the folder
// and all below it, and "..." alone for everything.
//
// A package may always import the standard library (but see Deny). A row that ends in /... also
// lets the packages under its folder import each other: with "rdmaio/providers/*/..." a provider
// can have packages of its own, but cannot import another provider.
type Row struct {
	Package string
	Imports []string // packages of this module
	Outside []string // other modules' packages, by prefix
	Deny    []string // standard library packages that it may not import
	Unsafe  []string // its files that may import unsafe

	// Sequential packages, including their tests, start no goroutine, so that the race detector
	// cannot find anything in them: the test run with it leaves them out.
	Sequential bool
}

// Limits on hand-written files, in lines.
const (
	maxLines     = 600
	maxTestLines = 900
)

// testOutside lists the packages of other modules that any test file may import,
// besides those of its row.
var testOutside = []string{"github.com/google/go-cmp"}

// Internal packages of the root module that the module nfs may import, and those that only tests
// may, and test/linuxpeer. After a release, users may combine a version of nfs with any later
// version of the root module. So what these packages export can no longer change: they are few.
var (
	sharedInternals     = []string{"internal/cli", "internal/cli/completion", "internal/spelling"}
	sharedTestInternals = []string{"internal/cli/completion/completiontest", "internal/golden", "internal/isolated", "internal/leak", "internal/tlstest", "internal/witness", "internal/xdrtest"}
)

const (
	participle = "github.com/alecthomas/participle/v2"
	jennifer   = "github.com/dave/jennifer"
	kong       = "github.com/alecthomas/kong"
	purego     = "github.com/ebitengine/purego"
)

const (
	ibverbs = "rdmaio/providers/ibverbs"
	gogen   = "cmd/xdrgen/internal/gogen/"
)

// Table returns the rows. The first row that matches a package applies.
func Table() []Row {
	diags := []string{"cmd/internal/diag", "cmd/internal/source", "internal/spelling"}
	// A state machine does no I/O, and has no locks or goroutines of its own.
	pure := []string{"net", "os", "sync", "syscall"}
	return []Row{
		// The compiler. It imports neither generated code nor the packages that generated code
		// imports, so that it builds without any generated file. Both commands use its front end,
		// in cmd/internal.
		{Package: "cmd/internal/source", Sequential: true},
		{Package: "cmd/internal/diag", Imports: []string{"cmd/internal/source"}, Sequential: true},
		{Package: "cmd/internal/ir", Imports: diags, Sequential: true},
		{Package: "cmd/internal/bind", Imports: append([]string{"cmd/internal/ir"}, diags...), Sequential: true},
		{Package: "cmd/internal/syntax", Imports: diags, Outside: []string{participle}, Sequential: true},
		{Package: "cmd/internal/sema", Imports: append([]string{"cmd/internal/syntax", "cmd/internal/bind", "cmd/internal/ir"}, diags...), Sequential: true},
		{Package: "cmd/xdrgen/internal/plan", Imports: append([]string{"cmd/internal/ir"}, diags...), Sequential: true},
		{Package: gogen + "gonames", Imports: append([]string{"cmd/xdrgen/internal/plan", "cmd/internal/ir"}, diags...), Sequential: true},
		// The rooms of gogen. Only gogen itself has the state of a run.
		{Package: gogen + "gofile", Imports: []string{"cmd/internal/ir"}, Outside: []string{jennifer}},
		{Package: gogen + "gosample", Imports: []string{"cmd/xdrgen/internal/plan", "cmd/internal/ir"}, Sequential: true},
		{Package: gogen + "goexpr", Imports: []string{gogen + "gonames", "cmd/xdrgen/internal/plan", "cmd/internal/ir"}, Outside: []string{jennifer}, Sequential: true},
		{Package: gogen + "gocodec", Imports: []string{gogen + "goexpr", "cmd/xdrgen/internal/plan"}, Outside: []string{jennifer}, Sequential: true},
		{Package: gogen + "goview", Imports: []string{gogen + "goexpr", "cmd/xdrgen/internal/plan"}, Outside: []string{jennifer}, Sequential: true},
		{Package: gogen + "gohelper", Imports: []string{gogen + "goexpr", gogen + "gonames", "cmd/xdrgen/internal/plan", "cmd/internal/ir"}, Outside: []string{jennifer}, Sequential: true},
		{Package: gogen + "gostubs", Imports: []string{gogen + "goexpr", gogen + "gofile", gogen + "gonames", "cmd/xdrgen/internal/plan", "cmd/internal/ir"}, Outside: []string{jennifer}, Sequential: true},
		{Package: "cmd/xdrgen/internal/gogen", Imports: append([]string{"cmd/xdrgen/internal/gogen/...", "cmd/xdrgen/internal/plan", "cmd/internal/ir"}, diags...), Outside: []string{jennifer}},
		{Package: "cmd/xdrgen/internal/format", Imports: append([]string{"cmd/internal/syntax"}, diags...), Sequential: true},
		{Package: "cmd/xdrgen/internal/lint", Imports: append([]string{"cmd/internal/ir"}, diags...), Sequential: true},
		{Package: "cmd/xdrgen/internal/reference", Imports: []string{"cmd/internal/ir", "cmd/internal/packet", "cmd/internal/source", "internal/xdrdoc"}},
		{Package: "cmd/xdrgen/internal/dissector", Imports: []string{"cmd/internal/ir"}},
		{Package: "cmd/xdrgen/internal/compat", Imports: append([]string{"cmd/internal/ir"}, diags...), Sequential: true},
		{Package: "cmd/internal/packet", Imports: []string{"cmd/internal/ir"}, Sequential: true},
		{Package: "cmd/internal/dynamic", Imports: append([]string{"cmd/internal/ir", "internal/jsontext"}, diags...), Sequential: true},
		{Package: "cmd/xdrgen/internal/explain", Imports: diags, Sequential: true},
		// What several commands, and the page for a browser, do with units and data.
		{Package: "cmd/xdrgen/internal/document", Imports: append([]string{"cmd/internal/sema", "internal/xdrdoc"}, diags...), Sequential: true},
		{Package: "cmd/xdrgen/internal/form", Sequential: true},
		{Package: "cmd/xdrgen/internal/message", Imports: []string{"cmd/internal/dynamic", "cmd/internal/ir", "cmd/internal/sema"}, Sequential: true},
		{Package: "cmd/xdrgen/internal/page/wasm", Imports: []string{"cmd/xdrgen/internal/page"}, Sequential: true},
		{Package: "cmd/xdrgen/internal/page/build", Imports: []string{"cmd/internal/packet", "internal/chromium"}},
		{Package: "cmd/xdrgen/internal/page", Imports: append([]string{"cmd/internal/dynamic", "cmd/internal/ir", "cmd/internal/packet", "cmd/internal/sema", "cmd/xdrgen/internal/document", "cmd/xdrgen/internal/explain", "cmd/xdrgen/internal/form", "cmd/xdrgen/internal/gogen", "cmd/xdrgen/internal/message", "internal/xdrdoc"}, diags...), Sequential: true},
		// Captured packets. Their formats are read a second time, without code of a provider.
		{Package: "cmd/xdrgen/internal/capture/decode", Imports: []string{"cmd/internal/dynamic", "cmd/internal/ir", "cmd/xdrgen/internal/capture"}, Sequential: true},
		{Package: "cmd/xdrgen/internal/capture/rdmatest"},
		{Package: "cmd/xdrgen/internal/capture/...", Imports: []string{"internal/rdmatcp/segment"}, Sequential: true},
		{Package: "cmd/xdrgen/internal/trial", Sequential: true},
		{Package: "cmd/xdrgen/internal/wild", Sequential: true},
		// The language server, which gets the back ends and the reader of documents as functions.
		{Package: "cmd/xdrgen/internal/lsp", Imports: append([]string{"cmd/internal/bind", "cmd/internal/ir", "cmd/internal/packet", "cmd/internal/sema", "cmd/internal/syntax"}, diags...)},
		{Package: "cmd/xdrgen", Imports: []string{"cmd/internal/*", "cmd/xdrgen/internal/...", "internal/cli/...", "internal/spelling", "internal/xdrdoc"}, Outside: []string{kong}, Sequential: true},
		{Package: "tools/extract/...", Imports: []string{"internal/spelling", "internal/xdrdoc"}, Sequential: true},
		{Package: "tools/release"},
		{Package: "tools/speccheck/...", Sequential: true},
		{Package: "tools/wireshark"},

		// The packages that generated code imports, and generated code.
		{Package: "runtime/xdr"},
		{Package: "runtime/xdr/text", Imports: []string{"runtime/xdr/internal/describe"}, Sequential: true},
		{Package: "runtime/xdr/xdrslog", Imports: []string{"runtime/xdr"}},
		{Package: "runtime/xdr/internal/swap", Imports: []string{"internal/cpuid"}},
		{Package: "runtime/xdr/codec", Imports: []string{"runtime/xdr", "runtime/xdr/internal/swap"}, Unsafe: []string{"numbers.go"}},
		{Package: "runtime/xdr/internal/describe"},
		{Package: "runtime/xdr/xdrjson", Imports: []string{"runtime/xdr", "runtime/xdr/codec", "runtime/xdr/internal/describe", "internal/jsontext"}},
		{Package: "runtime/xdr/codectest", Imports: []string{"runtime/xdr", "runtime/xdr/codec"}},
		// Calls and services know no carrier.
		{Package: "runtime/oncrpc", Imports: []string{"runtime/xdr", "runtime/xdr/codec", "runtime/xdr/text"}},
		{Package: "runtime/oncrpc/gss", Imports: []string{"runtime/xdr", "runtime/xdr/codec", "runtime/xdr/text", "runtime/oncrpc"}},
		{Package: "runtime/oncrpc/gss/gsstest", Imports: []string{"runtime/oncrpc/gss"}},
		{Package: "runtime/oncrpc/cancel", Imports: []string{"runtime/xdr", "runtime/xdr/codec", "runtime/xdr/text", "runtime/oncrpc"}},
		{Package: "runtime/oncrpc/rpc", Imports: []string{"runtime/xdr", "runtime/oncrpc", "runtime/oncrpc/gss"}},
		{Package: "runtime/oncrpc/rpcbind", Imports: []string{"runtime/xdr", "runtime/xdr/codec", "runtime/xdr/text", "runtime/oncrpc", "runtime/oncrpc/rpc", "runtime/oncrpc/tcp", "runtime/oncrpc/udp"}},
		{Package: "runtime/oncrpc/tcp", Imports: []string{"runtime/xdr", "runtime/oncrpc", "runtime/oncrpc/cancel", "internal/admission", "internal/backchannel", "internal/deadpeer", "internal/inflight", "internal/reconnect", "internal/reconnect/machine", "internal/resend", "internal/tlsstream"}},
		{Package: "runtime/oncrpc/udp", Imports: []string{"runtime/xdr", "runtime/oncrpc", "internal/admission", "internal/inflight"}},
		{Package: "runtime/oncrpc/mem", Imports: []string{"runtime/oncrpc", "runtime/oncrpc/tcp"}},
		{Package: "runtime/oncrpc/activation"},
		{Package: "runtime/oncrpc/certs"},
		{Package: "runtime/oncrpc/*", Imports: []string{"runtime/xdr", "runtime/oncrpc"}},
		{Package: "gen/*", Imports: []string{"runtime/*", "runtime/xdr/*", "gen/*"}},
		{Package: "gen/*/*", Imports: []string{"runtime/oncrpc", "runtime/oncrpc/rpc", "gen/*"}}, // stubs

		// Verbs and their providers do not depend on RPC.
		{Package: "rdmaio/verbs"},
		{Package: "rdmaio/verbs/verbstest/...", Imports: []string{"rdmaio/verbs"}},
		{Package: "rdmaio/verbs/wrap/*", Imports: []string{"rdmaio/verbs", "internal/pcapng"}},
		{Package: "rdmaio/providers/internal/soft", Imports: []string{"rdmaio/verbs"}},
		{Package: "rdmaio/providers/internal/stream", Imports: []string{"internal/admission", "internal/deadpeer", "internal/tlsstream", "rdmaio/verbs", "rdmaio/providers/internal/soft"}, Unsafe: []string{"readv_linux.go"}},
		// A second reading of the documents of iWARP, for tests, without code of the provider.
		{Package: "rdmaio/providers/iwarp/internal/stranger", Imports: []string{"internal/witness", "internal/pcapng"}},
		{Package: "rdmaio/providers/iwarp/internal/strangertest", Imports: []string{"rdmaio/providers/iwarp", "rdmaio/providers/iwarp/internal/stranger", "rdmaio/verbs", "internal/leak"}},
		// A program that imports purego is linked to the system's C library. Only lib does, and
		// only the provider imports lib.
		{Package: ibverbs + "/internal/abi", Unsafe: []string{"memory.go"}},
		{Package: ibverbs + "/internal/lib", Imports: []string{ibverbs + "/internal/abi"}, Outside: []string{purego}, Unsafe: []string{"*.go"}},
		{Package: ibverbs + "/internal/fakelib", Imports: []string{ibverbs + "/internal/abi", ibverbs + "/internal/lib", ibverbs + "/internal/quirks"}},
		{Package: ibverbs + "/internal/tcpstate"},
		{Package: ibverbs + "/internal/quirks", Imports: []string{ibverbs + "/internal/abi"}},
		{Package: ibverbs, Imports: []string{"internal/rdmadev", "rdmaio/verbs", "rdmaio/providers/internal/soft", ibverbs + "/internal/*"}},
		{Package: "rdmaio/providers/rdmatcp", Imports: []string{"internal/rdmatcp/*", "rdmaio/verbs", "rdmaio/providers/internal/*"}},
		{Package: "rdmaio/providers/mem/...", Imports: []string{"rdmaio/verbs", "rdmaio/verbs/wrap/fault", "rdmaio/providers/internal/*"}},
		{Package: "rdmaio/providers/*/...", Imports: []string{"rdmaio/verbs", "rdmaio/providers/internal/*"}},

		// The engine and its parts. Each imports the ones below. Only a version imports its
		// generated package, and only what makes connections imports a version.
		{Package: "rdmaio/internal/engine", Deny: pure, Imports: []string{
			"rdmaio/internal/header", "rdmaio/internal/protocol", "rdmaio/internal/chunk",
			"rdmaio/internal/credit", "rdmaio/internal/mrpool", "rdmaio/verbs", "runtime/xdr",
		}, Sequential: true},
		{Package: "rdmaio/internal/driver", Imports: []string{"rdmaio/internal/engine", "rdmaio/verbs"}},
		{Package: "rdmaio/internal/v1", Deny: pure, Imports: []string{"rdmaio/internal/protocol", "rdmaio/internal/header", "rdmaio/internal/credit", "gen/rpcrdma1", "runtime/xdr"}, Sequential: true},
		{Package: "rdmaio/internal/v2", Deny: pure, Imports: []string{"rdmaio/internal/protocol", "rdmaio/internal/header", "rdmaio/internal/credit", "gen/rpcrdma2", "runtime/xdr"}, Sequential: true},
		{Package: "rdmaio/internal/protocol", Deny: pure, Imports: []string{"rdmaio/internal/header"}, Sequential: true},
		{Package: "rdmaio/internal/chunk", Deny: pure, Imports: []string{"rdmaio/internal/header", "rdmaio/verbs", "runtime/xdr"}, Sequential: true},
		{Package: "rdmaio/internal/header", Deny: pure, Imports: []string{"rdmaio/verbs", "runtime/xdr"}, Sequential: true},
		{Package: "rdmaio/internal/credit", Deny: pure, Sequential: true},
		{Package: "rdmaio/internal/machine"},
		{Package: "rdmaio/internal/mrpool", Imports: []string{"rdmaio/verbs"}},
		{Package: "internal/rawpeer", Imports: []string{"rdmaio/verbs"}},
		{Package: "internal/peertest/...", Imports: []string{"internal/peertest", "internal/rawpeer", "rdmaio/verbs/...", "rdmaio/providers/*", "gen/*", "runtime/*"}},
		{Package: "internal/rdmaiotest", Imports: []string{"internal/rdmatcp/segment", "rdmaio", "internal/peertest/...", "rdmaio/hostauth/...", "rdmaio/verbs/...", "rdmaio/providers/*/...", "internal/golden", "internal/leak"}},
		{Package: "internal/residenttest", Imports: []string{"internal/xdrtest", "gen/mount3", "runtime/oncrpc/...", "runtime/*"}},
		{Package: "internal/rpctest", Imports: []string{"rdmaio", "internal/rdmaiotest", "runtime/oncrpc", "runtime/xdr/..."}},
		{Package: "internal/v2test", Imports: []string{"rdmaio", "internal/peertest/...", "internal/rdmaiotest", "internal/rpctest"}},
		{Package: "rdmaio/internal/test/*"}, // tests alone
		{Package: "rdmaio/internal/sim/...", Imports: []string{"internal/admission", "internal/history", "internal/reconnect/machine", "rdmaio/internal/*", "rdmaio/verbs/...", "rdmaio/providers/*", "runtime/*", "runtime/oncrpc/cancel", "runtime/oncrpc/replycache"}},

		// The transport, which gets a provider from its user, and the protocols over it.
		{Package: "rdmaio", Imports: []string{"internal/admission", "internal/backchannel", "internal/inflight", "internal/reconnect", "internal/reconnect/machine", "internal/resend", "rdmaio/internal/*", "rdmaio/verbs", "rdmaio/hostauth", "runtime/*", "runtime/oncrpc/cancel", "runtime/xdr/codec"}},
		{Package: "rdmaio/xchar", Deny: pure, Imports: []string{"rdmaio", "runtime/oncrpc/rpc", "gen/*", "runtime/*"}},
		{Package: "rdmaio/hostauth/...", Deny: pure}, // rdmaio calls it
		{Package: "rdmaio/connconf", Imports: []string{"rdmaio", "runtime/oncrpc/rpc", "gen/*", "runtime/*"}},

		// Above all carriers.
		{Package: "carriers", Imports: []string{"internal/reconnect/machine", "internal/resend", "rdmaio", "rdmaio/verbs", ibverbs, "runtime/oncrpc", "runtime/oncrpc/tcp", "runtime/oncrpc/udp"}},

		// Packages that no package imports, except for tests.
		{Package: "cmd/rpcrdma/...", Imports: []string{"..."}, Outside: []string{kong}},
		{Package: "examples/...", Imports: []string{"..."}},

		// Separate modules, which the root module does not import.
		{Package: "nfs/gen/*", Imports: []string{"runtime/*", "runtime/xdr/*", "nfs/gen/*"}},
		{Package: "nfs/gen/*/*", Imports: []string{"runtime/oncrpc", "runtime/oncrpc/rpc", "nfs/gen/*"}}, // stubs
		{Package: "nfs/fsx"},
		{Package: "nfs/fsx/fsxtest", Imports: []string{"nfs/client", "nfs/fsx"}},
		{Package: "nfs/client", Imports: []string{"nfs/internal/filedata", "nfs/internal/provider", "gen/*", "gen/*/*", "rdmaio/...", "runtime/..."}},
		{Package: "nfs/client4", Imports: []string{"nfs/internal/filedata", "nfs/internal/provider", "nfs/nfs4", "nfs/gen/...", "runtime/..."}},
		{Package: "nfs/nfs4", Imports: []string{"nfs/gen/...", "rdmaio/...", "runtime/..."}},
		{Package: "nfs/vfs"},
		{Package: "nfs/vfs/vfstest", Imports: []string{"nfs/vfs"}},
		{Package: "nfs/memfs", Imports: []string{"nfs/vfs", "nfs/vfs/vfstest"}},
		{Package: "nfs/iofs", Imports: []string{"nfs/vfs", "nfs/vfs/vfstest"}},
		{Package: "nfs/localfs", Imports: []string{"nfs/internal/filetimes", "nfs/vfs", "nfs/vfs/vfstest"}, Unsafe: []string{"beneath_linux.go", "changes_linux.go", "statx_linux.go", "system_linux.go"}},
		{Package: "nfs/nfsd", Imports: []string{"gen/*", "gen/*/*", "nfs/gen/...", "nfs/internal/nlm", "nfs/localfs", "nfs/vfs", "runtime/..."}},
		{Package: "nfs/internal/filedata"},
		{Package: "nfs/internal/filetimes", Unsafe: []string{"set_linux.go"}},
		{Package: "nfs/internal/locks"},
		{Package: "nfs/internal/nlm", Imports: []string{"nfs/gen/...", "nfs/internal/locks", "runtime/..."}},
		{Package: "nfs/...", Imports: []string{"..."}},
		{Package: "metrics/otel", Imports: []string{"runtime/oncrpc/monitor"}, Outside: []string{"go.opentelemetry.io/otel"}},
		{Package: "metrics/prometheus", Imports: []string{"runtime/oncrpc/monitor"}, Outside: []string{"github.com/prometheus"}},
		{Package: "test/linuxpeer/agent", Imports: []string{"internal/witness", "test/linuxpeer/internal/control", "test/linuxpeer/internal/guest"}, Unsafe: []string{"terminal.go"}},
		{Package: "test/...", Imports: []string{"..."}},

		{Package: "internal/archtest", Imports: []string{"internal/workspace"}, Sequential: true},
		{Package: "internal/corpus"},
		{Package: "internal/cpuid"},
		// The wire format of RDMA over TCP: the provider, tests of dissectors, benchmarks.
		{Package: "internal/rdmatcp/crc", Imports: []string{"internal/cpuid"}},
		{Package: "internal/rdmatcp/segment", Imports: []string{"internal/rdmatcp/crc"}},
		{Package: "internal/fuzzrun", Imports: []string{"internal/workspace"}, Sequential: true},
		{Package: "internal/cputime"},
		{Package: "internal/golden"},
		{Package: "internal/growth", Imports: []string{"internal/cputime"}, Sequential: true},
		{Package: "internal/isolated", Imports: []string{"internal/witness"}},
		{Package: "internal/jsontext", Sequential: true},
		{Package: "internal/chromium", Imports: []string{"internal/leak", "internal/witness"}},
		{Package: "internal/leak"},
		{Package: "internal/history"},
		{Package: "internal/netfault"},
		{Package: "internal/carriers", Imports: []string{"internal/peertest", "rdmaio", "rdmaio/verbs", "rdmaio/providers/*", "runtime/oncrpc", "runtime/oncrpc/*"}},
		{Package: "internal/liveness", Imports: []string{"internal/carriers", "internal/leak", "internal/netfault", "internal/peertest", "internal/xdrtest", "rdmaio/verbs", "runtime/oncrpc", "runtime/oncrpc/carriertest", "runtime/xdr"}},
		{Package: "internal/pairs", Imports: []string{"rdmaio", "rdmaio/verbs", "runtime/oncrpc", "runtime/oncrpc/replycache", "runtime/oncrpc/rpc", "runtime/oncrpc/tcp"}},
		{Package: "internal/backchannel", Imports: []string{"runtime/oncrpc"}},
		{Package: "internal/deadpeer"},
		{Package: "internal/inflight"},
		{Package: "internal/resend", Imports: []string{"internal/reconnect/machine", "runtime/oncrpc"}},
		{Package: "internal/admission"},
		{Package: "internal/reconnect", Imports: []string{"internal/reconnect/machine"}},
		{Package: "internal/reconnect/machine", Deny: append([]string{"context"}, pure...), Sequential: true},
		{Package: "internal/cli", Imports: []string{"internal/spelling"}, Outside: []string{kong}, Unsafe: []string{"terminal_unix.go", "terminal_windows.go", "width_linux_test.go"}},
		{Package: "internal/cli/completion", Imports: []string{"internal/cli"}, Outside: []string{kong}},
		{Package: "internal/cli/completion/completiontest", Imports: []string{"internal/cli/completion", "internal/witness"}},
		{Package: "internal/mutants"},
		{Package: "internal/pcapng"},
		{Package: "internal/quick"},
		{Package: "internal/rdmadev"},
		{Package: "internal/spelling", Sequential: true},
		{Package: "internal/tlsstream"},
		{Package: "internal/tlstest"},
		{Package: "internal/testrun", Imports: []string{"internal/archtest"}},
		{Package: "internal/tshark", Imports: []string{"internal/witness"}},
		{Package: "internal/witness"},
		{Package: "internal/workspace", Sequential: true},
		{Package: "internal/xdrdoc", Sequential: true},
		{Package: "internal/zero", Imports: []string{"runtime/..."}}, // generated, for tests
		{Package: "internal/zero/zerorpc", Imports: []string{"internal/zero", "runtime/..."}},
		{Package: "internal/xdrtest", Imports: []string{"runtime/xdr", "runtime/xdr/codec", "internal/witness"}, Outside: testOutside},
	}
}
