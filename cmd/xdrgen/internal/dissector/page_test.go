package dissector_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// notesCapture returns the name of a capture with messages of examples/notes over TCP: two Calls
// with their Replies, a Reply that ends within its text, and a Call of another version.
func notesCapture(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	conn := pcapng.NewFile(&out, 0).Connection("client")
	at := time.Unix(1000, 0)
	send := func(call bool, message []byte) {
		conn.Segment(call, at, append(words(1<<31|uint32(len(message))), message...))
		at = at.Add(250 * time.Microsecond)
	}
	call := func(xid, version, proc uint32, args ...byte) {
		send(true, append(words(xid, 0, 2, 0x20000200, version, proc, 0, 0, 0, 0), args...))
	}
	reply := func(xid, stat uint32, results ...byte) { send(false, append(words(xid, 1, 0, 0, 0, stat), results...)) }
	greeting := append(append(words(8), "greeting"...), append(words(12), "good morning"...)...)
	call(0x2a, 1, 1, greeting...)
	reply(0x2a, 0)
	call(0x2b, 1, 2, greeting[:12]...)
	reply(0x2b, 0, append(words(0), greeting...)...)
	call(0x2c, 1, 2, greeting[:12]...)
	reply(0x2c, 0, append(words(0), greeting[:20]...)...)
	call(0x2d, 2, 0)
	reply(0x2d, 2, words(1, 1)...)
	return write(t, out.Bytes())
}

// TestPageShowsWhatTsharkPrints checks that the page for users has the output of its commands.
func TestPageShowsWhatTsharkPrints(t *testing.T) {
	witness.Program(t, "tshark")
	page, err := os.ReadFile(root + "docs/wireshark.md")
	if err != nil {
		t.Fatal(err)
	}
	in := tshark.Input{File: notesCapture(t), Scripts: []string{compile(t, "notes", units["notes"]...).script}}
	for _, args := range [][]string{
		nil,
		{"-O", "notes", "-Y", "frame.number == 4"},
		{"-Y", "notes.note.name == \"greeting\" && notes.rpc.time > 0.0002"},
		{"-Y", "_ws.expert.severity >= \"Warning\"", "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message"},
	} {
		printed := 0
		for _, line := range strings.Split(string(tshark.Run(t, in, args...)), "\n") {
			line = strings.TrimRight(strings.ReplaceAll(line, "\t", " "), " ")
			if line == "" || strings.HasPrefix(line, "Frame ") || strings.HasPrefix(line, "Internet") || strings.HasPrefix(line, "Transmission") {
				continue
			}
			printed++
			if !strings.Contains(string(page), "    "+line+"\n") {
				t.Errorf("the page does not have this line, which tshark %q prints:\n    %s", args, line)
			}
		}
		if printed == 0 {
			t.Errorf("tshark %q prints nothing", args)
		}
	}
}
