package wireshark_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// TestWiresharkReadsExtensionsOfNFS42 gives the vectors of the packages for RFC 8276 and RFC 9754
// to Wireshark, which has its own code for these extensions, as Calls and replies of NFS version
// 4.2.
func TestWiresharkReadsExtensionsOfNFS42(t *testing.T) {
	witness.Program(t, "tshark")
	root, err := filepath.Abs("../../nfs/gen")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		unit, args, res string
		call, reply     []string // lines that Wireshark shows
	}{
		{
			"nfs42xattr", "xattr-args", "xattr-res",
			[]string{"Opcode: GETXATTR (72)", "contents: lang", "Opcode: SETXATTR (73)", "setxattr options: CREATE (1)", "contents: mime", "Opcode: LISTXATTRS (74)", "maxcount: 512", "Opcode: REMOVEXATTR (75)", "contents: mime"},
			[]string{"Opcode: GETXATTR (72)", "Opcode: SETXATTR (73)", "changeid (before): 16", "changeid (after): 17", "Opcode: LISTXATTRS (74)", "cookie: 2", "contents: lang", "contents: mime", "eof: 1", "Opcode: REMOVEXATTR (75)", "changeid (after): 18"},
		},
		{
			"nfs42xattr", "xattr-args", "noxattr-res", nil,
			[]string{"Status: NFS4ERR_NOXATTR (10095)"},
		},
		{
			"nfs42deleg", "open-args", "open-res",
			[]string{"Opcode: OPEN (18)", "Claim Type: CLAIM_FH (4)"},
			[]string{"Opcode: OPEN (18)", "result flags: 0x00000010", "Delegation Type: OPEN_DELEGATE_WRITE_ATTRS_DELEG (5)", "filesize: 4096", "contents: OWNER@"},
		},
		{
			"nfs42ext", "xattr-args", "xattr-res",
			[]string{"Opcode: REMOVEXATTR (75)"}, []string{"Opcode: REMOVEXATTR (75)"},
		},
		{
			"nfs42ext", "open-args", "open-res",
			[]string{"Opcode: OPEN (18)"}, []string{"Delegation Type: OPEN_DELEGATE_WRITE_ATTRS_DELEG (5)"},
		},
	} {
		t.Run(tt.unit+" "+tt.res, func(t *testing.T) {
			t.Chdir(filepath.Join(root, tt.unit))
			vectors := xdrtest.Load(t)
			const xid = 0x00000042
			call, err := oncrpc.NewCall(xid, 100003, 4, 1, oncrpc.OpaqueAuth{}).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := (&oncrpc.ReplyError{}).Header(xid).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			conn := pcapng.NewFile(&out, 0).Connection(tt.unit)
			conn.Segment(true, time.Time{}, fragment(call, xdrtest.Find(t, vectors, tt.args).Bytes))
			conn.Segment(false, time.Time{}, fragment(reply, xdrtest.Find(t, vectors, tt.res).Bytes))
			in := tshark.Input{File: filepath.Join(t.TempDir(), "nfs.pcapng")}
			if err := os.WriteFile(in.File, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if found := tshark.Complaints(t, in, ""); found != "" {
				t.Errorf("Wireshark complains:\n%s", found)
			}
			shown := tshark.Only(tshark.Parts(t, in, "nfs"), "nfs")
			if len(shown) != 2 {
				t.Fatalf("Wireshark shows %d parts of NFS, want 2", len(shown))
			}
			for i, lines := range [][]string{tt.call, tt.reply} {
				rest := shown[i].Text
				for _, line := range lines {
					_, after, found := strings.Cut(rest, line)
					if !found {
						t.Errorf("packet %d has no line with %q, in this order:\n%s", i+1, line, shown[i].Text)
						break
					}
					rest = after
				}
			}
		})
	}
}

// fragment returns an RPC message of one fragment (RFC 5531 §11).
func fragment(header, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(header)+len(body)))
	return append(append(b, header...), body...)
}
