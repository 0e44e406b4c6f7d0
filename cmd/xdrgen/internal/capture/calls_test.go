package capture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
)

// found writes calls and notes as lines.
type found struct {
	lines []string
	calls []*capture.Call
}

func (f *found) Call(c *capture.Call) {
	f.calls = append(f.calls, c)
	line := fmt.Sprintf("%d %s xid %d", c.Connection.Number, c.Connection.Carrier, c.XID)
	if c.Reverse {
		line += " reverse"
	}
	if c.HasCall {
		line += fmt.Sprintf(" call %d.%d.%d %q at %d-%d", c.Program, c.Version, c.Procedure, c.Message[c.Args:], c.Sent.First, c.Whole)
	}
	if c.Copies > 0 {
		line += fmt.Sprintf(" copies %d", c.Copies)
	}
	if c.HasReply {
		line += fmt.Sprintf(" %s %q at %d-%d", c.Status.Text, c.Reply[c.Results:], c.Answered.First, c.Answered.Last)
	}
	f.lines = append(f.lines, line+strings.Join(c.Notes, "; "))
}

func (f *found) Note(n capture.Note) { f.lines = append(f.lines, "note: "+n.Text) }

// run returns the calls and notes of a file.
func run(t testing.TB, b []byte, limits capture.Limits) (*found, error) {
	t.Helper()
	f := new(found)
	r, err := capture.NewReader(bytes.NewReader(b), limits, f)
	if err == nil {
		err = r.Run()
	}
	return f, err
}

const (
	client = "10.0.0.9:700"
	server = "10.0.0.2:2049"
)

// talk makes the packets of a TCP connection.
type talk struct {
	packets []capturetest.Packet
	seq     [2]uint32
	now     int64
	from    string // the client; its address by default
}

func (k *talk) segment(fromServer bool, payload string, captured bool) {
	p := capturetest.Packet{Time: k.now, From: client, To: server, Flags: capturetest.ACK, Payload: payload}
	if k.from != "" {
		p.From = k.from
	}
	dir := 0
	if fromServer {
		p.From, p.To, dir = p.To, p.From, 1
	}
	p.Seq, p.Ack = 100+k.seq[dir], 100+k.seq[1-dir]
	k.seq[dir] += uint32(len(payload))
	if k.now++; captured {
		k.packets = append(k.packets, p)
	}
}

func (k *talk) says(payload string)    { k.segment(false, payload, true) }
func (k *talk) answers(payload string) { k.segment(true, payload, true) }

// same fails unless lines are those wanted.
func same(t *testing.T, f *found, want ...string) {
	t.Helper()
	if got := strings.Join(f.lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// Calls and replies over TCP are paired by XID and connection, in any order, and with any cuts
// between fragments and segments. They have the times of the first and the last byte.
func TestCallsOverTCP(t *testing.T) {
	var k talk
	one := capturetest.Call(1, 99, 2, 3, "args")
	k.says(capturetest.Words(44) + one) // a last fragment follows
	k.says(capturetest.Words(1 << 31))
	k.says(capturetest.Record(capturetest.Call(2, 99, 2, 4, ""))[:30])
	k.says(capturetest.Record(capturetest.Call(2, 99, 2, 4, ""))[30:] + capturetest.Record(capturetest.Call(3, 99, 2, 5, "long")))
	k.answers(capturetest.Record(capturetest.Reply(3, "33"))[:10])
	k.answers(capturetest.Record(capturetest.Reply(3, "33"))[10:] + capturetest.Record(capturetest.Words(1, 1, 0, 0, 0, 2, 4, 5)))
	k.answers(capturetest.Record(capturetest.Call(7, 98, 1, 1, "back")))
	k.says(capturetest.Record(capturetest.Words(7, 1, 1, 1, 5)))
	f, err := run(t, capturetest.File(k.packets...), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 tcp xid 3 call 99.2.5 "long" at 3-3 SUCCESS "33" at 4-5`,
		`1 tcp xid 1 call 99.2.3 "args" at 0-1 PROG_MISMATCH (4 to 5) "" at 5-5`,
		`1 tcp xid 7 reverse call 98.1.1 "back" at 6-6 AUTH_ERROR AUTH_TOOWEAK "" at 7-7`,
		`1 tcp xid 2 call 99.2.4 "" at 2-3`)
	if c := f.calls[0].Connection; c.Client.String() != client || c.Server.String() != server {
		t.Errorf("client %v, server %v", c.Client, c.Server)
	}
}

// Where the capture lacks segments, the messages in them are lost, and those after them are found.
func TestMissingSegments(t *testing.T) {
	var k talk
	k.says(capturetest.Record(capturetest.Call(1, 99, 2, 3, strings.Repeat("x", 2000)))[:1000])
	k.segment(false, strings.Repeat("x", 1044), false)
	k.says(capturetest.Record(capturetest.Call(2, 99, 2, 4, "good")))
	k.answers(capturetest.Record(capturetest.Reply(1, "")))
	k.answers(capturetest.Record(capturetest.Reply(2, "")))
	f, err := run(t, capturetest.File(k.packets...), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 tcp xid 1 SUCCESS "" at 3-3`,
		`1 tcp xid 2 SUCCESS "" at 4-4`,
		`note: the capture lacks 1044 bytes, and the rest of a message`,
		`1 tcp xid 2 call 99.2.4 "good" at 2-2`)
}

// A Call that is sent again is one call. XIDs of different ports are different calls.
func TestCallsOverUDP(t *testing.T) {
	at := int64(0)
	datagram := func(from, to, payload string) capturetest.Packet {
		at++
		return capturetest.Packet{Time: at, From: from, To: to, UDP: true, Payload: payload}
	}
	call := capturetest.Call(5, 99, 2, 3, "ping")
	f, err := run(t, capturetest.File(
		datagram(client, server, call), datagram("10.0.0.1:53", "10.0.0.9:900", "not an RPC message, but a question"),
		datagram("10.0.0.1:7", server, capturetest.Call(5, 99, 2, 4, "")), datagram(client, server, call),
		datagram(server, client, capturetest.Reply(5, "pong"))), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 udp xid 5 call 99.2.3 "ping" at 1-1 copies 1 SUCCESS "pong" at 5-5`, `2 udp xid 5 call 99.2.4 "" at 3-3`)
}

// A SYN begins another connection between the same ports.
func TestPortsAreUsedAgain(t *testing.T) {
	var k talk
	k.says(capturetest.Record(capturetest.Call(1, 99, 2, 3, "")))
	k.packets = append(k.packets, capturetest.Packet{Time: 5, From: client, To: server, Seq: 9999, Flags: capturetest.SYN},
		capturetest.Packet{Time: 6, From: client, To: server, Seq: 10000, Payload: capturetest.Record(capturetest.Call(2, 99, 2, 4, ""))})
	f, err := run(t, capturetest.File(k.packets...), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 tcp xid 1 call 99.2.3 "" at 0-0`, `2 tcp xid 2 call 99.2.4 "" at 6-6`)
}

// TLS and connections of other protocols are named, once.
func TestOtherProtocols(t *testing.T) {
	var k, web talk
	web.from = "10.0.0.77:5555"
	web.says("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
	k.says("\x16\x03\x01\x02\x00" + strings.Repeat("\x01", 600))
	k.says(strings.Repeat("\x17\x03\x03", 600))
	f, err := run(t, capturetest.File(append(k.packets, web.packets...)...), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, "note: TLS: what follows is encrypted", "note: connections without RPC messages: 2")
}

// Connections, calls that wait, and bytes have limits. Calls that are forgotten are reported.
func TestLimitsHold(t *testing.T) {
	var all []capturetest.Packet
	for i := range 20 {
		k := talk{from: fmt.Sprintf("10.0.1.%d:700", i)}
		for n := range uint32(5) {
			k.says(capturetest.Record(capturetest.Call(n, 99, 2, 3, strings.Repeat("x", 1000))))
		}
		all = append(all, k.packets...)
	}
	file := capturetest.File(all...)
	for name, limits := range map[string]capture.Limits{"connections": {Connections: 3}, "calls": {Calls: 2}, "bytes": {Bytes: 20000}} {
		f, err := run(t, file, limits)
		if err != nil || len(f.calls) != 100 {
			t.Errorf("%s: %d calls, error %v", name, len(f.calls), err)
		}
		text := strings.Join(f.lines, "\n")
		if forgotten := strings.Contains(text, "are forgotten"); forgotten != (name != "calls") {
			t.Errorf("%s: connections are forgotten: %v", name, forgotten)
		}
		if waited := strings.Count(text, "not waited for"); (waited == 60) != (name == "calls") {
			t.Errorf("%s: %d calls are not waited for", name, waited)
		}
	}
	f, _ := run(t, file, capture.Limits{Message: 500})
	if n := strings.Count(strings.Join(f.lines, "\n"), "a message of 1040 bytes: only the first 500 are decoded"); n != 100 {
		t.Errorf("%d messages are shortened", n)
	}
}

// endless is a capture without an end, made while it is read: connections that begin messages and
// never end them, Calls without replies, and segments that wait for missing ones.
type endless struct {
	left int64
	n    uint32
	buf  []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	for len(e.buf) < len(b) {
		e.n++
		p := capturetest.Packet{Time: int64(e.n), From: fmt.Sprintf("10.0.%d.%d:%d", e.n>>8&7, e.n&255, 1000+e.n>>16), To: server, Flags: capturetest.ACK}
		switch e.n % 3 {
		case 0: // a record that does not end
			p.Seq, p.Payload = e.n, capturetest.Words(60<<20, e.n, 0, 2, 9, 9, 9, 0, 0, 0, 0)+strings.Repeat("x", 30000)
		case 1: // out of order
			p.Seq, p.Payload = e.n*70000, strings.Repeat("y", 30000)
		default: // Calls without replies
			p.Seq, p.Payload = e.n, capturetest.Record(capturetest.Call(e.n, 9, 9, 9, strings.Repeat("z", 30000)))
		}
		e.buf = append(e.buf, capturetest.Block(p.Time, p.IP(), 0)...)
	}
	n := copy(b, e.buf)
	e.buf = append(e.buf[:0], e.buf[n:]...)
	e.left -= int64(n)
	return n, nil
}

// counter counts calls.
type counter struct{ calls, notes int }

func (c *counter) Call(*capture.Call) { c.calls++ }
func (c *counter) Note(capture.Note)  { c.notes++ }

// The memory for a long capture is bounded by Limits, not by the length.
func TestLongCaptureTakesBoundedMemory(t *testing.T) {
	length, limit := int64(4<<30), uint64(96<<20)
	if testing.Short() {
		length = 256 << 20
	}
	var c counter
	in := io.MultiReader(bytes.NewReader(capturetest.Head(capturetest.Raw)), &endless{left: length})
	var peak uint64
	r, err := capture.NewReader(readerFunc(func(b []byte) (int, error) {
		n, err := in.Read(b)
		if length -= int64(n); length>>24 != (length+int64(n))>>24 { // every 16 MiB
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
		return n, err
	}), capture.Limits{Bytes: 16 << 20}, &c)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(); err != nil {
		t.Log(err) // the last packet is cut
	}
	if c.calls == 0 || c.notes == 0 || peak > limit {
		t.Errorf("%d calls, %d notes; the heap had %d MiB, expected at most %d", c.calls, c.notes, peak>>20, limit>>20)
	}
	t.Logf("the heap had %d MiB", peak>>20)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// Each beginning of a capture has a beginning of its calls, and no other fault than the end.
func TestCutCaptures(t *testing.T) {
	for name, b := range samples(t) {
		whole, err := run(t, b, capture.Limits{})
		if err != nil || len(whole.calls) == 0 {
			t.Fatalf("%s: %d calls, error %v", name, len(whole.calls), err)
		}
		for n := 0; n < len(b); n += 1 + len(b)/1500 {
			f, err := run(t, b[:n], capture.Limits{})
			var fault *packets.Error
			if err != nil && !errors.As(err, &fault) {
				t.Fatalf("%s, %d bytes: %v", name, n, err)
			}
			if len(f.calls) > len(whole.calls)+2 {
				t.Errorf("%s, %d bytes: %d calls, and %d in the whole capture", name, n, len(f.calls), len(whole.calls))
			}
		}
	}
}

// FuzzCapture reads arbitrary captures. Messages and allocations are bounded by the file's length.
func FuzzCapture(f *testing.F) {
	for _, b := range samples(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, _ := run(t, b, capture.Limits{})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+200*uint64(len(b)) {
			t.Errorf("%d bytes are allocated for a capture of %d", n, len(b))
		}
		total := 0
		for _, c := range found.calls {
			total += len(c.Message) + len(c.Reply)
			for _, chunk := range c.Chunks {
				total += len(chunk.Data)
			}
		}
		if total > 4*len(b)+1024 {
			t.Errorf("messages of %d bytes in a capture of %d", total, len(b))
		}
	})
}

// FuzzStream takes arbitrary bytes as the two directions of a connection, in segments of arbitrary
// sizes.
func FuzzStream(f *testing.F) {
	f.Add([]byte(capturetest.Record(capturetest.Call(1, 2, 3, 4, "args"))), []byte(capturetest.Record(capturetest.Reply(1, ""))), uint16(9))
	f.Add([]byte("MPA ID Req Frame\x40\x01\x00\x00"), []byte("MPA ID Rep Frame\x40\x01\x00\x00"), uint16(40))
	f.Fuzz(func(t *testing.T, a, b []byte, size uint16) {
		k := talk{}
		for len(a)+len(b) > 0 {
			n := min(int(size)+1, len(a))
			k.says(string(a[:n]))
			a = a[n:]
			n = min(int(size)+1, len(b))
			k.answers(string(b[:n]))
			b = b[n:]
		}
		if _, err := run(t, capturetest.File(k.packets...), capture.Limits{}); err != nil {
			t.Fatal(err)
		}
	})
}

// A file of record-marked messages, or of one message, needs no packets. A file that ends within a
// record is a fault.
func TestFilesOfMessages(t *testing.T) {
	call, reply := capturetest.Call(1, 99, 2, 3, "args"), capturetest.Reply(1, "results!")
	for name, c := range map[string]struct {
		in, want, fault string
	}{
		"both ends": {capturetest.Record(call) + capturetest.Record(reply), `1 stream xid 1 call 99.2.3 "args" at 0-0 SUCCESS "results!" at 0-0`, ""},
		"a Call":    {call, `1 stream xid 1 call 99.2.3 "args" at 0-0`, ""},
		"a reply":   {reply, `1 stream xid 1 SUCCESS "results!" at 0-0`, ""},
		"cut":       {capturetest.Record(call) + capturetest.Record(reply)[:20], `1 stream xid 1 call 99.2.3 "args" at 0-0`, "offset 68: found the end of the file, expected the rest of a record (RFC 5531 §11)"},
		"empty fragments": {capturetest.Record(call) + strings.Repeat("\x00", 400), `1 stream xid 1 call 99.2.3 "args" at 0-0`,
			"offset 448: found 65 empty fragments in a row, expected record marking (RFC 5531 §11)"},
	} {
		f := new(found)
		err := capture.RunStream(strings.NewReader(c.in), capture.Limits{}, f)
		if same(t, f, c.want); err == nil && c.fault != "" || err != nil && err.Error() != c.fault {
			t.Errorf("%s: %v, want %q", name, err, c.fault)
		}
		if !capture.IsStream([]byte(c.in)) {
			t.Errorf("%s: not found to be a stream", name)
		}
	}
	for _, other := range []string{"", "some text of another kind of file", string(binary.BigEndian.AppendUint64(nil, 7)) + strings.Repeat("\x00", 40)} {
		if capture.IsStream([]byte(other)) {
			t.Errorf("%q is taken for a message", other)
		}
	}
}
