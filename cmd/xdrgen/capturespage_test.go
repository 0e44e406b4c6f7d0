package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// wire has the packets of a TCP connection as its client and its server see them. Each takes a
// fifth of a millisecond, and the server's clock is ahead.
type wire struct {
	client, server []capturetest.Packet
	seq            map[bool]uint32
}

const (
	wireDelay = 200_000
	wireAhead = 3_500_000_000
)

// say sends a message at a time in microseconds, in segments with a pause between them, and returns
// the time of the last one.
func (w *wire) say(at int64, fromServer bool, message string, pause int64) int64 {
	for message = capturetest.Record(message); ; at += pause {
		n := min(len(message), 40000)
		p := capturetest.Packet{From: "192.0.2.7:801", To: "192.0.2.1:20200", Seq: w.seq[fromServer], Ack: w.seq[!fromServer], Flags: capturetest.ACK, Payload: message[:n]}
		w.seq[fromServer] += uint32(n)
		p.Time = 1_767_225_600_000_000_000 + 1000*at
		c, s := p, p
		if fromServer {
			c.From, c.To, s.From, s.To = p.To, p.From, p.To, p.From
			c.Time += wireDelay
		} else {
			s.Time += wireDelay
		}
		s.Time += wireAhead
		w.client, w.server = append(w.client, c), append(w.server, s)
		if message = message[n:]; message == "" {
			return at
		}
	}
}

// notesCaptures returns the captures of docs/captures.md, of the program in examples/notes.
func notesCaptures() (client, server string) {
	w := wire{seq: map[bool]uint32{}}
	const program = 0x20000200
	text := func(s string) string {
		return capturetest.Words(uint32(len(s))) + s + strings.Repeat("\x00", -len(s)&3)
	}
	call := func(at int64, xid, version, procedure uint32, args string, pause, served int64, reply string) {
		at = w.say(at, false, capturetest.Call(xid, program, version, procedure, args), pause)
		if reply != "" {
			w.say(at+wireDelay/1000+served, true, reply, 0)
		}
	}
	call(0, 0x101, 1, 1, text("greeting")+text("good morning"), 0, 90, capturetest.Reply(0x101, ""))
	call(1000, 0x102, 1, 2, text("greeting"), 0, 70, capturetest.Reply(0x102, capturetest.Words(0)+text("greeting")+text("good morning")))
	call(2000, 0x103, 1, 2, text("archive"), 0, 250_000, capturetest.Reply(0x103, capturetest.Words(0)+text("archive")+text("found at last")))
	call(254_000, 0x104, 1, 1, text("large")+text(strings.Repeat("x", 100_000)), 20_000, 300, capturetest.Reply(0x104, ""))
	call(296_000, 0x105, 1, 2, text("nothing"), 0, 60, capturetest.Reply(0x105, capturetest.Words(2)))
	call(297_000, 0x106, 2, 2, text("greeting"), 0, 20, capturetest.Words(0x106, 1, 0, 0, 0, 2, 1, 1))
	call(298_000, 0x107, 1, 2, capturetest.Words(65)+strings.Repeat("n", 68), 0, 20, capturetest.Words(0x107, 1, 0, 0, 0, 4))
	call(299_000, 0x108, 1, 3, "", 0, 0, "")
	return string(capturetest.File(w.client...)), string(capturetest.File(w.server...))
}

// TestCapturesPageIsTrue runs the commands of docs/captures.md and compares what they print.
func TestCapturesPageIsTrue(t *testing.T) {
	page := readText(t, "../../docs/captures.md")
	picture, err := filepath.Abs("../../docs/img/ladder.svg")
	if err != nil {
		t.Fatal(err)
	}
	client, server := notesCaptures()
	t.Chdir(writeFiles(t, map[string]string{"client.pcapng": client, "server.pcapng": server, "notes.x": readText(t, "../../examples/notes/notes.x")}))
	commands := 0
	for i, block := range strings.Split(page, "```\n") {
		if i%2 == 0 {
			continue
		}
		command, want, _ := strings.Cut(block, "\n")
		stdout, stderr, code := runCommand(t, strings.Fields(strings.TrimPrefix(command, "$ xdrgen "))...)
		if stdout+stderr != want || code == exitUsage || code == exitFailed {
			t.Errorf("%s: exit code %d; the page shows\n%sthe command prints\n%s%s", command, code, want, stdout, stderr)
		}
		commands++
	}
	if commands != 4 {
		t.Errorf("%d commands", commands)
	}
	stdout, stderr, code := runCommand(t, "dump", "-ladder", "svg", "client.pcapng", "server.pcapng", "notes.x")
	if code != exitClean {
		t.Error(stderr)
	}
	golden.Check(t, picture, []byte(stdout))
}
