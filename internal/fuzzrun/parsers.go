package main

// parser is code that reads the bytes of a peer.
type parser struct {
	dir   string
	files []string // of the package; none: all
	codec bool     // its functions that decode are counted, of which its corpora reach nearly all

	// The targets, as DIR NAME, or as NAME in the same package: those in which the peer is the
	// client, and those in which it is the server. A codec has the same for both.
	clients, servers []string
}

// both is the targets of a parser that both ends of a connection have.
func both(dir string, codec bool, targets ...string) parser {
	return parser{dir: dir, codec: codec, clients: targets, servers: targets}
}

// parsers lists the packages that read what a peer sent. TestEachParserHasTargetsForBothRoles
// checks that it is complete, and that the targets exist.
var parsers = []parser{
	// XDR and RPC.
	both("runtime/xdr", false, "gen/rpcrdma2 FuzzXDR", "gen/nfs3 FuzzXDR"),
	both("runtime/xdr/codec", true, "FuzzDecodeFrom", "FuzzEnumParse", "gen/rpcrdma2 FuzzXDR", "gen/nfs3 FuzzXDR"),
	both("runtime/xdr/internal/swap", false, "FuzzCopy"),
	both("runtime/oncrpc", false, "FuzzMessage", "FuzzUniversalAddr", "FuzzXDR"),
	{dir: "runtime/oncrpc/rpc", clients: []string{"FuzzHandler"}, servers: []string{"FuzzClient"}},
	{dir: "runtime/oncrpc/gss", clients: []string{"FuzzHandler"}, servers: []string{"FuzzReply"}},
	{dir: "runtime/oncrpc/rpcbind", clients: []string{"FuzzServer"}, servers: []string{"FuzzAnswers"}},
	{dir: "runtime/oncrpc/replycache", clients: []string{"FuzzCache"}},
	{dir: "runtime/oncrpc/udp", clients: []string{"FuzzServer"}, servers: []string{"FuzzClient"}},
	both("runtime/oncrpc/tcp", false, "FuzzConn", "FuzzRecords", "FuzzScreen", "FuzzOffer"),
	{dir: "runtime/oncrpc/cancel", clients: []string{"FuzzServe"}, servers: []string{"runtime/oncrpc/tcp FuzzConn"}},
	both("runtime/oncrpc/mem", false, "runtime/oncrpc/tcp FuzzConn"),
	both("internal/tlsstream", false, "FuzzTLSSocket"),
	both("cmd/rpcrdma/internal/conform", false, "FuzzOutcome"),
	both("internal/rawpeer", false, "cmd/rpcrdma/internal/conform FuzzOutcome"),

	// RPC-over-RDMA.
	both("gen/rpcrdma1", true, "FuzzMessage", "FuzzXDR"),
	both("gen/rpcrdma2", true, "FuzzMsg", "FuzzNomsg", "FuzzError", "FuzzConnProp", "FuzzXDR"),
	both("gen/xchar", true, "FuzzInit", "FuzzXDR"),
	both("gen/xcharcarrier", true, "FuzzOptional", "FuzzXDR"),
	both("gen/rdmaconfig", true, "FuzzReq", "FuzzReply", "FuzzXDR"),
	both("rdmaio/internal/header", false, "rdmaio/internal/v1 FuzzDecode", "rdmaio/internal/v2 FuzzDecode"),
	both("rdmaio/internal/v1", true, "FuzzDecode", "FuzzPrivate"),
	both("rdmaio/internal/v2", true, "FuzzDecode"),
	both("rdmaio/internal/engine", false, "FuzzEngine", "rdmaio/internal/test/version2 FuzzVersion2"),
	both("rdmaio", false, "rdmaio/internal/test/version2 FuzzVersion2"),
	{dir: "rdmaio/connconf", clients: []string{"FuzzServer"}, servers: []string{"FuzzClient"}},
	both("rdmaio/xchar", false, "FuzzReceive"),
	both("rdmaio/hostauth", false, "FuzzReceiveValue"),
	both("rdmaio/hostauth/pubkey", false, "FuzzDecode", "FuzzReceive"),

	// Providers.
	both("internal/rdmatcp/segment", true, "FuzzOpen", "FuzzStream"),
	{dir: "rdmaio/providers/rdmatcp", clients: []string{"FuzzPeer"}, servers: []string{"FuzzDial"}},
	both("rdmaio/providers/internal/stream", false, "rdmaio/providers/rdmatcp FuzzPeer", "rdmaio/providers/iwarp/internal/strangertest FuzzStream"),
	both("rdmaio/providers/internal/soft", false, "rdmaio/providers/rdmatcp FuzzPeer", "rdmaio/providers/iwarp/internal/strangertest FuzzStream"),
	{dir: "rdmaio/providers/iwarp", clients: []string{"rdmaio/providers/iwarp/internal/strangertest FuzzStream"}, servers: []string{"rdmaio/providers/iwarp/internal/strangertest FuzzDial"}},
	both("rdmaio/providers/iwarp/internal/mpa", true, "FuzzFPDU", "FuzzFrame"),
	both("rdmaio/providers/iwarp/internal/ddp", true, "FuzzHeaders"),
	both("rdmaio/providers/iwarp/internal/rdmap", true, "FuzzTerminate", "FuzzResponse"),

	// Captures of other programs.
	both("cmd/xdrgen/internal/capture", false, "FuzzCapture", "FuzzStream"),
	both("cmd/xdrgen/internal/capture/packets", false, "FuzzPackets"),
	both("cmd/xdrgen/internal/capture/tcp", false, "cmd/xdrgen/internal/capture FuzzCapture"),

	// Editors.
	both("cmd/xdrgen/internal/lsp", false, "FuzzMessages"),

	// Programs of examples.
	both("gen/nfs3", true, "FuzzReadRes", "FuzzWriteArgs", "FuzzXDR"),
	both("gen/mount3", true, "FuzzMountRes", "FuzzXDR"),
	{dir: "nfs/nfsd", clients: []string{"FuzzHandle", "FuzzNFS", "FuzzMount", "FuzzNLM"}},
	{dir: "nfs/client", servers: []string{"FuzzServer"}},
	{dir: "nfs/client4", servers: []string{"FuzzEntry"}},
	{dir: "nfs/nfs4", servers: []string{"FuzzResults", "FuzzCallback"}},
}

// notParsers lists the packages that decode, but never what a peer sent, or that no product
// contains, with the reason.
var notParsers = map[string]string{
	"cmd/internal/dynamic":                      "FuzzRoundTrip and FuzzAgainstGenerated; rpcrdma call decodes results with it",
	"cmd/rpcrdma":                               "FuzzDescribe and FuzzArguments; it decodes by cmd/internal/dynamic and rdmaio",
	"cmd/xdrgen/internal/capture/decode":        "by cmd/internal/dynamic",
	"cmd/xdrgen":                                "FuzzMessage; a user's files",
	"runtime/oncrpc/monitor":                    "by package oncrpc, after the carrier has",
	"examples/readwrite":                        "one call, by package rpc",
	"examples/slow":                             "one call, by package rpc",
	"nfs/cmd/nfsserve":                          "by package rpc and nfsd",
	"nfs/localfs":                               "IDs of 16 bytes, whose MAC nfsd has checked, and the server's own table",
	"nfs/memfs":                                 "IDs of 16 bytes, whose MAC nfsd has checked",
	"internal/mutants":                          "text of mutants",
	"internal/pcapng":                           "captures of this host",
	"internal/xdrtest":                          "tests",
	"internal/liveness":                         "tests",
	"internal/v2test":                           "tests",
	"internal/peertest":                         "tests",
	"internal/peertest/peer2":                   "tests",
	"internal/rdmaiotest":                       "tests",
	"internal/residenttest":                     "tests",
	"internal/rpctest":                          "tests",
	"rdmaio/internal/sim":                       "tests",
	"rdmaio/providers/ibverbs":                  "addresses from the kernel; the device checks what a peer sends",
	"rdmaio/providers/ibverbs/internal/fakelib": "tests",
	"rdmaio/providers/iwarp/internal/stranger":  "tests",
	"rdmaio/verbs/verbstest":                    "tests",
	"runtime/oncrpc/carriertest":                "tests",
	"runtime/xdr/codectest":                     "tests",
	"test/linuxpeer/internal/cases":             "tests",
	"test/linuxpeer/internal/nfs":               "tests",
	"test/linuxpeer/internal/nfs/v41":           "tests",
	"test/linuxpeer/internal/perftest":          "tests",
	"test/linuxpeer/internal/rping":             "tests",
	"test/linuxpeer/verbspeer":                  "tests",
}
