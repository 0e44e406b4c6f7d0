package tcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// statuses are the replies of a server by procedure, with the line that Wireshark shows of each.
var statuses = []struct {
	reply oncrpc.ReplyError
	shown string
}{
	{oncrpc.ReplyError{}, "Accept State: RPC executed successfully (0)"},
	{oncrpc.ReplyError{Accept: oncrpc.ProgUnavail}, "Accept State: remote hasn't exported program (1)"},
	{oncrpc.ReplyError{Accept: oncrpc.ProgMismatch, Range: oncrpc.VersionRange{Low: 3, High: 7}}, "Accept State: remote can't support version # (2)"},
	{oncrpc.ReplyError{Accept: oncrpc.ProcUnavail}, "Accept State: program can't support procedure (3)"},
	{oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, "Accept State: procedure can't decode params (4)"},
	{oncrpc.ReplyError{Accept: oncrpc.SystemErr}, "Accept State: system errors like memory allocation failure (5)"},
	{oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: oncrpc.VersionRange{Low: 3, High: 7}}, "Reject State: RPC_MISMATCH (0)"},
	{*oncrpc.Refused(oncrpc.AuthStatBadCred), "Auth State: bad credential (seal broken) (1)"},
	{*oncrpc.Refused(oncrpc.AuthStatRejectedCred), "Auth State: client must begin new session (2)"},
	{*oncrpc.Refused(oncrpc.AuthStatBadVerf), "Auth State: bad verifier (seal broken) (3)"},
	{*oncrpc.Refused(oncrpc.AuthStatRejectedVerf), "Auth State: verifier expired or replayed (4)"},
	{*oncrpc.Refused(oncrpc.AuthStatTooWeak), "Auth State: rejected for security reasons (5)"},
	{*oncrpc.Refused(oncrpc.AuthStatCredProblem), "Auth State: GSS credential problem (13)"},
	{*oncrpc.Refused(oncrpc.AuthStatCtxProblem), "Auth State: GSS context problem (14)"},
}

// recorded returns the client's end of a connection to a server, whose bytes go to a capture.
func recorded(t *testing.T, file *pcapng.File, name string, h oncrpc.Handler) net.Conn {
	ours, theirs := net.Pipe()
	s := tcp.ServeConn(theirs, h, &tcp.Config{Logger: quiet})
	t.Cleanup(func() { _, _ = ours.Close(), s.Close() })
	return pcapng.Record(ours, pcapng.Recording{File: file, Name: name, Initiator: true})
}

// Wireshark reads our connections as we do: record marks (RFC 5531 §11), XIDs, programs, AUTH_SYS
// credentials, and each way to accept or reject a Call (§9). Nothing is malformed.
func TestWiresharkReadsOurConnections(t *testing.T) {
	witness.Program(t, "tshark")
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	handler := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		_, _, proc, _ := oncrpc.Procedure(r.Message)
		b, err := statuses[proc].reply.Header(xidOf(r)).AppendBinary(nil)
		if err != nil {
			t.Error(err)
		}
		r.Reply(oncrpc.Message{Inline: b}, nil)
	})
	c := tcp.NewConn(recorded(t, file, "statuses", handler), &tcp.Config{Logger: quiet})
	user := oncrpc.AuthSysParms{Stamp: 7, MachineName: []byte("garden"), UID: 1001, GID: 1002, GIDs: []uint32{3, 4, 5}}
	cred, err := user.Auth()
	if err != nil {
		t.Fatal(err)
	}
	const first = 0x70000000
	for proc := range uint32(len(statuses)) {
		b, err := oncrpc.NewCall(first+proc, 400001, 3, proc, cred).AppendBinary(nil)
		if err == nil {
			_, err = c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: b}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// A client of another kind sends a Call in three fragments. (Wireshark takes an empty one for
	// malformed.)
	raw := recorded(t, file, "fragments", newService())
	call := goodCall(9)[4:]
	stream := slices.Concat([]byte{0, 0, 0, 24}, call[:24], []byte{0, 0, 0, 16}, call[24:40], []byte{0x80, 0, 0, 4}, call[40:])
	answer := make([]byte, len(goodReply(9)))
	if _, err := raw.Write(stream); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(raw, answer); err != nil || !bytes.Equal(answer, goodReply(9)) {
		t.Errorf("the answer to a Call in fragments is %x, %v", answer, err)
	}
	_ = c.Close()

	in := tshark.Input{File: filepath.Join(t.TempDir(), "tcp.pcapng"), Args: []string{"-o", "rpc.dissect_unknown_programs:TRUE"}}
	if err := os.WriteFile(in.File, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := tshark.Complaints(t, in, ""); found != "" {
		t.Errorf("Wireshark complains:\n%s", found)
	}
	calls, replies, fragments, whole := 0, 0, 0, 0
	for _, p := range tshark.Only(tshark.Parts(t, in, "rpc"), "rpc") {
		xid := p.One("rpc.xid")
		var want []string
		switch {
		case xid == "" && p.Fields["rpc.fragment_data"] != nil:
			fragments++
			continue
		case xid == "0x00000009":
			whole++
			want = []string{"(400001)", "Program Version: 3", "Procedure: proc-1 (1)"}
		case p.Number(t, "rpc.msgtyp") == 0:
			want = []string{
				fmt.Sprintf("XID: %#08x", first+calls), "RPC Version: 2", "(400001)", "Program Version: 3", fmt.Sprintf("Procedure: proc-%d (%[1]d)", calls),
				"Last Fragment: Yes", fmt.Sprintf("Fragment Length: %d", 40+len(cred.Body)),
				"Flavor: AUTH_UNIX (1)", "Stamp: 0x00000007", "contents: garden", "UID: 1001", "GID: 1002", "GID: 3", "GID: 4", "GID: 5",
			}
			calls++
		default:
			want = []string{fmt.Sprintf("XID: %#08x", first+replies), "Last Fragment: Yes", statuses[replies].shown}
			if high := statuses[replies].reply.Range.High; high > 0 {
				want = append(want, "(Minimum): 3", "(Maximum): 7")
			}
			replies++
		}
		for _, line := range want {
			if !strings.Contains(p.Text, line) {
				t.Errorf("packet %d has no line with %q:\n%s", p.Packet, line, p.Text)
			}
		}
	}
	if calls != len(statuses) || replies != len(statuses) || fragments != 2 || whole != 2 {
		t.Errorf("%d Calls and %d replies, want %d of each; %d fragments before the last, and %d messages of that connection, want 2 and 2", calls, replies, len(statuses), fragments, whole)
	}
}
