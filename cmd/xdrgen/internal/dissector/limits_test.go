package dissector_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dissector"
	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// conversation writes messages of one connection.
type conversation struct {
	bytes.Buffer
	conn *pcapng.Connection
	at   time.Time
}

func newConversation() *conversation {
	c := &conversation{at: time.Unix(1000, 0)}
	c.conn = pcapng.NewFile(c, 0).Connection("client")
	return c
}

// send writes a message, in several segments if it is long.
func (c *conversation) send(call bool, message []byte) {
	for b := append(words(1<<31|uint32(len(message))), message...); len(b) > 0; {
		n := min(len(b), 60000)
		c.conn.Segment(call, c.at, b[:n])
		b, c.at = b[n:], c.at.Add(time.Millisecond)
	}
}

// gss returns a credential of RPCSEC_GSS with a service, and a verifier.
func gss(service uint32) []byte { return words(6, 20, 1, 0, 7, service, 0, 6, 4, 0x12345678) }

// wrapped returns data as RPCSEC_GSS with integrity carries them (RFC 2203 §5.3.2.2).
func wrapped(data []byte) []byte {
	b := append(words(uint32(4+len(data)), 7), data...)
	return append(b, words(4, 0xabcdabcd)...)
}

// TestLimitsAndCredentials checks the limits on depth and values, Calls that are sent again, and
// messages that RPCSEC_GSS protects.
func TestLimitsAndCredentials(t *testing.T) {
	witness.Program(t, "tshark")
	shapes, notes := compile(t, "shapes", units["shapes"]...), compile(t, "notes", units["notes"]...)
	c := newConversation()
	none := words(0, 0, 0, 0)
	several := func(xid uint32, tree []byte) []byte {
		b := append(append(words(xid, 0, 2, 0x20000999, 1, 2), none...), words(7)...)
		return append(append(b, tree...), words(0)...)
	}
	list := func(xid uint32, auth, rest []byte) []byte {
		return append(append(words(xid, 0, 2, 0x20000200, 1, 2), auth...), rest...)
	}
	name := append(words(5), "hello\x00\x00\x00"...)
	c.send(true, several(1, bytes.Repeat(words(5, 1), 200)))
	c.send(true, several(2, append(words(5, 60000), bytes.Repeat(words(6, 0), 60000)...)))
	c.send(true, list(3, none, name))
	c.send(true, list(3, none, name))
	c.send(false, words(3, 1, 0, 0, 0, 0, 2))
	// XIDs that are used again, after the Reply and for another Call.
	c.send(true, list(3, none, name))
	c.send(true, list(6, none, name))
	c.send(true, list(6, none, append(words(5), "world\x00\x00\x00"...)))
	c.send(true, list(4, gss(2), wrapped(name)))
	c.send(false, append(words(4, 1, 0, 6, 4, 0x12345678, 0), wrapped(words(2))...))
	c.send(true, list(5, gss(3), words(8, 0x11111111, 0x22222222)))
	var got []string
	in := tshark.Input{File: write(t, c.Bytes()), Scripts: []string{shapes.script, notes.script}, Args: []string{"-Y", "frame"}}
	for _, p := range tshark.Only(tshark.Parts(t, in, "shapes", "notes"), "shapes", "notes") {
		if _, deep := p.Fields["shapes.fault.depth"]; deep && len(p.Fields["shapes.tree.value"]) != 128 {
			t.Errorf("%d trees in trees are shown, want 128 as in dump", len(p.Fields["shapes.tree.value"]))
		}
		for _, f := range []string{
			"shapes.fault.depth", "shapes.fault.memory", "shapes.fault.short", "notes.rpc.again", "notes.rpc.reply",
			"notes.NOTES_V1.NOTES_GET.args.arg1", "notes.get_res.status", "notes.protected", "notes.fault.short", "notes.fault.trailing",
		} {
			if v, shown := p.Fields[f]; shown {
				got = append(got, fmt.Sprintf("%s %s=%s", p.One(p.Proto+".rpc.xid"), f, strings.Join(v, ",")))
			}
		}
	}
	first := "notes.NOTES_V1.NOTES_GET.args.arg1=hello"
	want := []string{
		"0x00000001 shapes.fault.depth=", "0x00000002 shapes.fault.memory=",
		"0x00000003 " + first, "0x00000003 notes.rpc.again=11", "0x00000003 notes.rpc.reply=13", "0x00000003 " + first,
		"0x00000003 notes.get_res.status=2",
		"0x00000003 " + first, "0x00000006 " + first, "0x00000006 notes.NOTES_V1.NOTES_GET.args.arg1=world",
		"0x00000004 notes.rpc.reply=18", "0x00000004 " + first, "0x00000004 notes.get_res.status=2",
		"0x00000005 notes.protected=",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("Wireshark shows\n%s\nwant\n%s", g, w)
	}
}

// TestKnownProgramsAreLeftToWireshark checks that NFS is shown only with the preference.
func TestKnownProgramsAreLeftToWireshark(t *testing.T) {
	witness.Program(t, "tshark")
	c := compile(t, "nfs3", units["nfs3"]...)
	text, err := dissector.Write(c.unit, nil, dissector.Options{Name: "nfs3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	conv := newConversation()
	conv.send(true, words(1, 0, 2, 100003, 3, 0, 0, 0, 0, 0))
	in := tshark.Input{File: write(t, conv.Bytes()), Scripts: []string{c.script}}
	for pref, want := range map[string]int{"FALSE": 0, "TRUE": 1} {
		in.Args = []string{"-o", "nfs3.known:" + pref}
		all := tshark.Parts(t, in)
		if n := len(tshark.Only(all, "nfs3")); n != want || len(tshark.Only(all, "nfs")) != 1 {
			t.Errorf("nfs3.known %s: %d parts, want %d and Wireshark's own", pref, n, want)
		}
	}
}
