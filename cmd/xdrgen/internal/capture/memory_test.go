package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
)

// tiny makes a capture of n packets while it is read: the payload of each, and its connection and
// sequence number. At the end it notes the memory in use.
type tiny struct {
	n, packets int
	packet     func(n int) (conn int, fromServer bool, seq uint32, payload string)
	buf        []byte
	heap       uint64
}

func (y *tiny) Read(b []byte) (int, error) {
	for len(y.buf) == 0 {
		if y.n == y.packets {
			y.heap = heap()
			return 0, io.EOF
		}
		conn, fromServer, seq, payload := y.packet(y.n)
		p := capturetest.Packet{Time: 1, From: fmt.Sprintf("10.0.%d.%d:700", conn>>8, conn&255), To: server, Flags: capturetest.ACK, Seq: seq, Payload: payload}
		if fromServer {
			p.From, p.To = p.To, p.From
		}
		y.buf = capturetest.Block(1, p.IP(), 0)
		y.n++
	}
	n := copy(b, y.buf)
	y.buf = y.buf[n:]
	return n, nil
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// inOrder makes what a client sends, one payload after the other.
func inOrder(payload func(n int) string) func(int) (int, bool, uint32, string) {
	var seq uint32
	return func(n int) (int, bool, uint32, string) {
		b := payload(n)
		seq += uint32(len(b))
		return 0, false, seq - uint32(len(b)), b
	}
}

// The memory for messages, segments and data is bounded by Limits.Bytes, however small they are and
// whatever their headers list.
func TestTinyPayloadsTakeBoundedMemory(t *testing.T) {
	reads, chunks := strings.Repeat(capturetest.Words(1, 44, 7, 0, 0, 0), 1000), strings.Repeat(capturetest.Words(1, 0), 1020)
	// Of version 2: the message continues.
	longer := untagged(3, 0, capturetest.Words(5, 2, 1, 0, 2, 0, 0)+chunks+capturetest.Words(0, 0))
	call := func(n int, lists string) string {
		return untagged(3, 0, capturetest.Words(uint32(n), 1, 1, 0)+lists+capturetest.Call(uint32(n), 9, 9, 9, ""))
	}
	var batch strings.Builder
	for name, made := range map[string]struct {
		packets int
		packet  func(n int) (int, bool, uint32, string)
	}{
		"read chunks of Calls": {200, inOrder(func(n int) string { return call(n, reads+capturetest.Words(0, 0, 0)) })},
		"Calls sent again with read chunks": {290, inOrder(func(n int) string {
			lists, again := reads+capturetest.Words(0, 0, 0), uint32(n/2)
			switch {
			case n > 200:
				return call(n, lists)
			case n%2 == 0:
				lists = capturetest.Words(0, 0, 0)
			}
			return untagged(3, 0, capturetest.Words(1, 1, 1, 0)+lists+capturetest.Call(1, 9, 9, again, ""))
		})},
		// A Call needs none of them, so that nothing is forgotten.
		"write chunks of Calls": {200, inOrder(func(n int) string { return call(n, capturetest.Words(0)+chunks+chunks+chunks+capturetest.Words(0, 0)) })},
		"continued messages": {200, func(n int) (int, bool, uint32, string) {
			return n, false, 1, longer
		}},
		"a continued message": {200, inOrder(func(int) string { return longer })},
		"held segments": {50000, func(n int) (int, bool, uint32, string) {
			return n / 500, false, uint32(n % 500 * 2), "x"
		}},
		"segments that were held": {50000, func(n int) (int, bool, uint32, string) {
			switch i := n % 500; i {
			case 0, 499: // the byte that is missing comes last
				return n / 500, false, uint32(i / 499), "x"
			default:
				return n / 500, false, uint32(2 * i), "xx"
			}
		}},
		"extents": {100, inOrder(func(n int) string {
			batch.Reset()
			for i := range 500 {
				k := n*500 + i
				batch.WriteString(tagged(0, uint32(k/4000), uint32(k%4000*2), "x"))
			}
			return batch.String()
		})},
		"Calls with replies": {600, func(n int) (int, bool, uint32, string) {
			batch.Reset()
			for i := range uint32(1000) {
				if n%2 == 0 {
					batch.WriteString(capturetest.Record(capturetest.Call(i, 9, 9, 9, "")))
				} else if i > 0 {
					batch.WriteString(capturetest.Record(capturetest.Reply(i, "")))
				}
			}
			return n / 2, n%2 == 1, 1, batch.String()
		}},
		"extents that were used": {100, func(n int) (int, bool, uint32, string) {
			batch.Reset()
			segments := []uint32{1, 1, 1, 0, 0, 1, 499}
			for i := range uint32(500) {
				if batch.WriteString(tagged(0, 8, i*2, "x")); i > 0 {
					segments = append(segments, 8, 1, 0, i*2)
				}
			}
			return n, true, 1, batch.String() + untagged(3, 0, capturetest.Words(append(segments, 0, 0)...)+capturetest.Reply(1, ""))
		}},
		"data that were used": {80, func(n int) (int, bool, uint32, string) {
			b := tagged(0, 8, 0, strings.Repeat("x", 30000))
			for from, left := uint32(0), uint32(30000); left > 100; {
				used := left/2 - 10
				b += untagged(3, 0, capturetest.Words(1, 1, 1, 0, 0, 1, 1, 8, used, 0, from, 0, 0)+capturetest.Reply(1, ""))
				from, left = from+used, left-used
			}
			return n, true, 1, b
		}},
		"Reads": {200, func(n int) (int, bool, uint32, string) {
			return n, false, 1, "MPA ID Req Frame\x40\x01\x00\x00" + strings.Repeat(untagged(1, 1, capturetest.Words(50, 0, 0, 1, 7, 0, 0)), 600)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			limit := 256 << 10
			if name == "Calls with replies" {
				limit = 1 << 20 // for many Calls of a connection
			}
			var c counter
			in := &tiny{packets: made.packets, packet: made.packet}
			before := heap()
			r, err := capture.NewReader(io.MultiReader(bytes.NewReader(capturetest.Head(capturetest.Raw)), in), capture.Limits{Bytes: limit}, &c)
			if err == nil {
				err = r.Run()
			}
			grown, most := int(in.heap)-int(before), 4*limit
			if t.Logf("%d KiB", grown>>10); err != nil || grown > most {
				t.Errorf("the heap grew by %d KiB, expected at most %d; error %v", grown>>10, most>>10, err)
			}
			if c.notes > 0 && name == "write chunks of Calls" {
				t.Errorf("%d notes", c.notes)
			}
		})
	}
}

// The lists of a continued message have the limit of a message.
func TestContinuedListsAreBounded(t *testing.T) {
	var k talk
	k.says("MPA ID Req Frame\x40\x01\x00\x00")
	for range 30 {
		k.says(untagged(3, 0, capturetest.Words(5, 2, 1, 0, 2, 0, 0)+strings.Repeat(capturetest.Words(1, 0), 100)+capturetest.Words(0, 0)))
	}
	f, err := run(t, capturetest.File(k.packets...), capture.Limits{Message: 64 << 10})
	if err != nil {
		t.Error(err)
	}
	same(t, f, "note: a continued message longer than the limit")
}

// Bytes that wait for the rest of their frame are not copied with each segment.
func TestFramesOfSmallSegmentsAreLinear(t *testing.T) {
	allocated := func(n int) uint64 {
		k := talk{}
		k.says("MPA ID Req Frame\x40\x01\x00\x00")
		for _, b := range []byte(untagged(3, 0, header(1, 0, 0, 0, 0)+capturetest.Call(1, 9, 9, 9, strings.Repeat("x", n)))) {
			k.says(string([]byte{b}))
		}
		file := capturetest.File(k.packets...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := run(t, file, capture.Limits{})
		runtime.ReadMemStats(&after)
		if err != nil || len(f.calls) != 1 {
			t.Errorf("%d bytes: %d calls, error %v", n, len(f.calls), err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	const n = 4000
	one, two, four := allocated(n), allocated(2*n), allocated(4*n)
	if t.Log(one, two, four); two > 3*one || four > 3*two {
		t.Errorf("%d, %d and %d bytes are allocated for frames of %d, %d and %d", one, two, four, n, 2*n, 4*n)
	}
}

// A Call that is sent again has its chunks where its last header says.
func TestSentAgainOverRDMA(t *testing.T) {
	var k talk
	k.says("MPA ID Req Frame\x40\x01\x00\x00")
	k.answers("MPA ID Rep Frame\x40\x01\x00\x00")
	call := capturetest.Call(1, 99, 2, 3, capturetest.Words(4))
	for _, handle := range []uint32{7, 17} {
		k.says(untagged(3, 0, capturetest.Words(1, 1, 32, 0, 1, 44, handle, 4, 0, 100, 0, 0, 0)+call))
	}
	k.answers(untagged(1, 1, capturetest.Words(50, 0, 0, 4, 17, 0, 100)))
	k.says(tagged(2, 50, 0, "data"))
	k.answers(untagged(3, 0, header(1, 0, 0, 0, 0)+capturetest.Reply(1, "")))
	f, err := run(t, capturetest.File(k.packets...), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 iwarp xid 1 call 99.2.3 "\x00\x00\x00\x04data" at 2-5 copies 1 SUCCESS "" at 6-6`)
}

// A record may have any number of empty fragments, if no more than the limit are in a row.
func TestEmptyFragments(t *testing.T) {
	call := capturetest.Call(1, 99, 2, 3, "args")
	empty := strings.Repeat(capturetest.Words(0), 40)
	f := new(found)
	err := capture.RunStream(strings.NewReader(capturetest.Words(40)+call[:40]+empty+capturetest.Words(2)+call[40:42]+empty+capturetest.Words(1<<31|2)+call[42:]), capture.Limits{}, f)
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 stream xid 1 call 99.2.3 "args" at 0-0`)
}
