package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// callsUnit declares the program of callsCapture.
const callsUnit = `struct entry { int a; string name<8>; opaque b<>; };
program P { version V { void P_NULL(void) = 0; entry P_GET(int, string) = 1; void P_PUT(entry) = 2; } = 1; } = 0x20000001;
`

// callsCapture returns a capture: calls over TCP with a result, an error, a fault in the results,
// an undeclared procedure and hostile text, one that is sent twice over UDP, and one without a
// reply.
func callsCapture() []byte {
	const client, server, program = "10.0.0.1:700", "10.0.0.2:2049", 0x20000001
	at, seq := int64(1e18), map[string]uint32{}
	var all []capturetest.Packet
	add := func(from, to, message string, udp bool) {
		if at += 1500000; !udp {
			message = capturetest.Record(message)
		}
		all = append(all, capturetest.Packet{Time: at, From: from, To: to, UDP: udp, Seq: seq[from], Flags: capturetest.ACK, Payload: message})
		if !udp {
			seq[from] += uint32(len(message))
		}
	}
	text := func(s string) string {
		return capturetest.Words(uint32(len(s))) + s + strings.Repeat("\x00", -len(s)&3)
	}
	call := func(xid, procedure uint32, args string) {
		add(client, server, capturetest.Call(xid, program, 1, procedure, args), false)
	}
	call(1, 1, capturetest.Words(7)+text("key"))
	call(2, 0, "")
	add(server, client, capturetest.Reply(1, capturetest.Words(7)+text("n")+text("data")), false)
	call(3, 1, capturetest.Words(8)+text("\x1b[2J\u202e"))
	add(server, client, capturetest.Words(3, 1, 0, 0, 0, 2, 3, 4), false)
	call(4, 1, capturetest.Words(9)+text(""))
	add(server, client, capturetest.Reply(4, capturetest.Words(9, 9)+"too long!"), false)
	call(5, 77, "what")
	add(server, client, capturetest.Words(5, 1, 1, 1, 1), false)
	for range 2 {
		add(client, "10.0.0.3:111", capturetest.Call(6, program, 1, 2, capturetest.Words(1)+text("")+text("")), true)
	}
	add("10.0.0.3:111", client, capturetest.Reply(6, ""), true)
	add(server, client, capturetest.Call(7, 99, 1, 1, ""), false)
	add(client, server, capturetest.Reply(7, "done"), false)
	add(server, client, capturetest.Reply(8, "lone"), false)
	file := capturetest.File(all...)
	last := capturetest.Packet{Time: at, From: client, To: server, Seq: seq[client] + 100, Flags: capturetest.ACK, Payload: "later"}
	return append(file, capturetest.Block(at, last.IP(), 0)...)
}

// TestDumpCalls prints the calls of a capture in each form.
func TestDumpCalls(t *testing.T) {
	dir := writeFiles(t, map[string]string{"p.x": callsUnit, "c.pcapng": string(callsCapture())})
	unit, file := filepath.Join(dir, "p.x"), filepath.Join(dir, "c.pcapng")
	for name, flags := range map[string]string{
		"lines": "", "tree": "-v -xid 1", "json": "-json", "numbers": "-procedure 1 -program 0x20000001", "procedure": "-procedure P_PUT", "alone": "",
	} {
		args := append([]string{"dump", file, unit}, strings.Fields(flags)...)
		if name == "alone" {
			args = []string{"dump", file}
		}
		stdout, stderr, code := runCommand(t, args...)
		if want := exitFindings; name == "procedure" || name == "tree" || name == "alone" {
			want = exitClean
			if code != want {
				t.Errorf("%s: exit code %d, %s", name, code, stderr)
			}
		} else if code != want || stderr != "" {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
		if strings.ContainsAny(stdout, "\x1b\u202e") {
			t.Errorf("%s: text of the capture reaches the terminal", name)
		}
		golden.Check(t, filepath.Join("testdata/calls", name+".golden"), []byte(stdout))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runCommand(t, "dump", file, unit)
	if stdout, _, _ := runWith(t, string(data), "dump", "-", unit); stdout != want {
		t.Errorf("standard input: %s", stdout)
	}
	if stdout, _, _ := runCommand(t, "dump", "-rpc", file, unit); stdout != want {
		t.Errorf("-rpc: %s", stdout)
	}
	stdout, stderr, code := runWith(t, string(data[:len(data)-20]), "dump", "-", unit)
	if code != exitFindings || !strings.Contains(stderr, `"-": offset`) || !strings.Contains(stdout, "P.V.P_PUT") {
		t.Errorf("a cut capture: exit code %d, %s%s", code, stdout, stderr)
	}
}

// TestDumpNamesEachConnection prints each connection before its first line, though the second one
// has its first reply first.
func TestDumpNamesEachConnection(t *testing.T) {
	const one, two, server = "10.0.0.1:700", "10.0.0.7:700", "10.0.0.2:2049"
	call, reply := capturetest.Record(capturetest.Call(1, 99, 1, 1, "")), capturetest.Record(capturetest.Reply(1, ""))
	file := string(capturetest.File(
		capturetest.Packet{Time: 1, From: one, To: server, Payload: call},
		capturetest.Packet{Time: 2, From: two, To: server, Payload: call},
		capturetest.Packet{Time: 3, From: server, To: two, Payload: reply},
		capturetest.Packet{Time: 4, From: server, To: one, Payload: reply}))
	stdout, stderr, code := runWith(t, file, "dump", "-")
	if code != exitClean || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if want := "#2  10.0.0.7:700 > 10.0.0.2:2049, tcp\n"; strings.Count(stdout, want) != 1 {
		t.Errorf("found\n%s\nwant %q once", stdout, want)
	}
	if want := "#1  10.0.0.1:700 > 10.0.0.2:2049, tcp\n"; strings.Count(stdout, want) != 1 || strings.Count(stdout, "# seconds") != 1 {
		t.Errorf("found\n%s\nwant %q once, and the time of the first packet", stdout, want)
	}
	if stdout, _, _ = runWith(t, file, "dump", "-json", "-"); strings.Count(stdout, `"type":"connection","connection":1,`) != 1 {
		t.Errorf("found\n%s\nwant an object for connection 1", stdout)
	}
}

// TestDumpLadder joins two captures, and refuses others.
func TestDumpLadder(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"p.x": callsUnit, "c.pcapng": string(callsCapture()), "cut.pcapng": string(callsCapture()[:1000])}))
	for _, c := range []struct {
		args, out, errs string
		code            int
	}{
		{"-ladder text c.pcapng c.pcapng p.x", "# calls in both captures: 5, only in the client's: 0, only in the server's: 0\n", `"c.pcapng": notes: 1 (xdrgen dump c.pcapng shows them)`, exitClean},
		{"-ladder text c.pcapng c.pcapng p.x", "|-- 0x00000001 P_GET ----------------------->|  waited 0.000, sent 0.000\n", "", exitClean},
		{"-ladder svg -procedure P_PUT c.pcapng c.pcapng p.x", "P_PUT: {}; waited 0.000, sent 0.000, served 3.000, received 0.000, took 3.000 ms</title>", "", exitClean},
		{"-ladder text -json -xid 4 c.pcapng c.pcapng p.x", `"took_ns":1500000}`, "", exitClean},
		{"-ladder text c.pcapng cut.pcapng p.x", "only in the server's: 0", `"cut.pcapng": offset `, exitFindings},
		{"-ladder text c.pcapng p.x", "", "-ladder: found 1 captures, expected two: the client's and the server's", exitUsage},
		{"-ladder text c.pcapng p.x p.x", "", "expected two", exitUsage},
		{"-ladder text -v c.pcapng c.pcapng p.x", "", "-ladder: leave out -v", exitUsage},
		{"-ladder text -rest c.pcapng c.pcapng p.x", "", "-ladder: leave out -rest", exitUsage},
		{"-ladder text c.pcapng none.pcapng p.x", "", "none.pcapng", exitFailed},
	} {
		stdout, stderr, code := runCommand(t, append([]string{"dump"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stdout, c.out) || !strings.Contains(stderr, c.errs) {
			t.Errorf("%s: exit code %d, want %d, %q and %q\n%s%s", c.args, code, c.code, c.out, c.errs, stdout, stderr)
		}
	}
}

// TestDumpMessages prints RPC messages without packets, and refuses flags for values.
func TestDumpMessages(t *testing.T) {
	message := capturetest.Call(1, 0x20000001, 1, 0, "")
	dir := writeFiles(t, map[string]string{"p.x": callsUnit, "c.pcapng": string(callsCapture()), "m.bin": message, "bad.x": "struct a { b c; };", "folder/p.x": ""})
	t.Chdir(dir)
	for _, c := range []struct {
		stdin, args, out, errs string
		code                   int
	}{
		{"", "dump m.bin p.x", "0x00000001  P.V.P_NULL {} -> no reply in the capture\n# calls: 1", "", exitClean},
		{capturetest.Record(message) + capturetest.Record(capturetest.Reply(1, "")), "dump - p.x", "P.V.P_NULL {} -> {}\n", "", exitClean},
		{capturetest.Record(message)[:40], "dump - p.x", "# calls: 0", "expected the rest of a record", exitFindings},
		{"", "dump -rpc m.bin p.x", "rpc.xid = 0x00000001\n", "", exitClean},
		{"", "dump -type entry c.pcapng p.x", "", `-type: "c.pcapng" is a capture (pcapng), whose calls are decoded by their programs; -as raw decodes the file itself`, exitUsage},
		{"", "dump -rest m.bin p.x", "", `-rest: "m.bin" is RPC messages`, exitUsage},
		{"", "dump -xid 1 -type entry -hex 00 p.x", "", "-xid is for captures and RPC messages", exitUsage},
		{"", "dump -xid one c.pcapng p.x", "", "-xid one: expected a number of 32 bits", exitUsage},
		{"", "dump -program Q c.pcapng p.x", "", "-program Q: expected a number, or a program that the files declare: P", exitUsage},
		{"", "dump -procedure P.V.Q c.pcapng p.x", "", "-procedure P.V.Q: version P.V has no procedure Q", exitUsage},
		{"", "dump -procedure Q c.pcapng p.x", "", "-procedure Q: expected a number, or a procedure that the files declare", exitUsage},
		{"", "dump c.pcapng bad.x", "", "undefined-type", exitFindings},
		{"", "dump none.pcap p.x", "", "xdrgen: open none.pcap: ", exitFailed},
		{"", "dump folder p.x", "", "xdrgen: read folder: ", exitFailed},
	} {
		stdout, stderr, code := runWith(t, c.stdin, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout, c.out) || !strings.Contains(stderr, c.errs) || c.errs == "" && stderr != "" {
			t.Errorf("%s: exit code %d, want %d, %q and %q\n%s%s", c.args, code, c.code, c.out, c.errs, stdout, stderr)
		}
	}
}
