package rdmap_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	. "github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// unhex reads hexadecimal bytes in groups.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RFC 5040 Figure 4.
func TestEachOpcodeHasItsQueueAndRights(t *testing.T) {
	for _, tc := range []struct {
		op                           Opcode
		control                      uint8
		tagged                       bool
		queue                        uint32
		send, invalidates, solicited bool
		name                         string
		n                            int // bytes of payload
	}{
		{op: Write, control: 0x40, tagged: true, name: "RDMA Write", n: 9},
		{op: ReadRequestOp, control: 0x41, queue: 1, name: "RDMA Read Request", n: 28},
		{op: ReadResponse, control: 0x42, tagged: true, name: "RDMA Read Response", n: 9},
		{op: Send, control: 0x43, send: true, name: "Send", n: 9},
		{op: SendInvalidate, control: 0x44, send: true, invalidates: true, name: "Send with Invalidate", n: 9},
		{op: SendSE, control: 0x45, send: true, solicited: true, name: "Send with SE", n: 9},
		{op: SendSEInvalidate, control: 0x46, send: true, invalidates: true, solicited: true, name: "Send with SE and Invalidate", n: 9},
		{op: TerminateOp, control: 0x47, queue: 2, name: "Terminate", n: 4},
	} {
		op := tc.op
		if op.Control() != tc.control || op.Tagged() != tc.tagged || op.Queue() != tc.queue || op.IsSend() != tc.send ||
			op.Invalidates() != tc.invalidates || op.Solicited() != tc.solicited || op.String() != tc.name {
			t.Errorf("%v: %#x, tagged %v, queue %d, send %v, invalidates %v, solicited %v", op, op.Control(), op.Tagged(), op.Queue(), op.IsSend(), op.Invalidates(), op.Solicited())
		}
		h := ddp.Header{Tagged: tc.tagged, Last: true, ULP: tc.control, QN: tc.queue, MSN: 1}
		h.ULP |= 0x30 // the reserved bits
		if got, err := Check(&h, tc.n); err != nil || got != op {
			t.Errorf("%v: %v, %v", op, got, err)
		}
	}
	for op := Immediate; op < 16; op++ { // RFC 7306, and reserved ones
		if _, err := Check(&ddp.Header{ULP: op.Control(), Last: true}, 0); !errors.Is(err, BadOpcode) {
			t.Errorf("%v: %v, want %v", op, err, BadOpcode)
		}
	}
	if got := fmt.Sprint(AtomicResponse, Opcode(12)); got != "Atomic Response opcode 12" {
		t.Errorf("%q", got)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, tc := range []struct {
		name  string
		h     ddp.Header
		n     int
		want  error
		cause Cause
	}{
		{"version 0", ddp.Header{ULP: 0x03, Last: true}, 1, BadVersion, Cause{0, 2, 5}},
		{"version 2", ddp.Header{ULP: 0x83, Last: true}, 1, BadVersion, Cause{0, 2, 5}},
		{"version 3", ddp.Header{ULP: 0xc0, Tagged: true}, 1, BadVersion, Cause{0, 2, 5}},
		{"opcode", ddp.Header{ULP: 0x4f}, 1, BadOpcode, Cause{0, 2, 6}},
		{"tagged Send", ddp.Header{ULP: 0x43, Tagged: true}, 1, WrongModel, Cause{0, 2, 6}},
		{"tagged Terminate", ddp.Header{ULP: 0x47, Tagged: true}, 4, WrongModel, Cause{0, 2, 6}},
		{"untagged Write", ddp.Header{ULP: 0x40}, 1, WrongModel, Cause{0, 2, 6}},
		{"untagged Read Response", ddp.Header{ULP: 0x42}, 1, WrongModel, Cause{0, 2, 6}},
		{"queue 3", ddp.Header{ULP: 0x43, QN: 3}, 1, ddp.BadQN, Cause{}},
		{"queue 2^32-1", ddp.Header{ULP: 0x43, QN: math.MaxUint32}, 1, ddp.BadQN, Cause{}},
		{"Send to queue 1", ddp.Header{ULP: 0x43, QN: 1}, 1, WrongQueue, Cause{0, 2, 6}},
		{"Read Request to queue 0", ddp.Header{ULP: 0x41, Last: true}, 28, WrongQueue, Cause{0, 2, 6}},
		{"Terminate to queue 0", ddp.Header{ULP: 0x47, Last: true}, 4, WrongQueue, Cause{0, 2, 6}},
		{"Read Request of 27 bytes", ddp.Header{ULP: 0x41, QN: 1, Last: true}, 27, BadReadRequest, Cause{0, 2, 7}},
		{"Read Request of 29 bytes", ddp.Header{ULP: 0x41, QN: 1, Last: true}, 29, BadReadRequest, Cause{0, 2, 7}},
		{"Read Request without Last", ddp.Header{ULP: 0x41, QN: 1}, 28, BadReadRequest, Cause{0, 2, 7}},
		{"Read Request at 1", ddp.Header{ULP: 0x41, QN: 1, MO: 1, Last: true}, 28, BadReadRequest, Cause{0, 2, 7}},
		{"Terminate without Last", ddp.Header{ULP: 0x47, QN: 2}, 4, BadTerminate, Cause{0, 2, 7}},
		{"Terminate of 53 bytes", ddp.Header{ULP: 0x47, QN: 2, Last: true}, 53, BadTerminate, Cause{0, 2, 7}},
	} {
		_, err := Check(&tc.h, tc.n)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
		if e := new(Error); errors.As(err, &e) && e.Rule.Cause() != tc.cause {
			t.Errorf("%s: %v, want %v", tc.name, e.Rule.Cause(), tc.cause)
		}
	}
}

const readRequest = "11223344 0102030405060708 00010000 55667788 a1a2a3a4a5a6a7a8"

var readFields = ReadRequest{0x11223344, 0x0102030405060708, 0x10000, 0x55667788, 0xa1a2a3a4a5a6a7a8}

func TestReadRequest(t *testing.T) {
	wire := unhex(t, readRequest)
	var r ReadRequest
	if err := r.Decode(wire); err != nil || r != readFields {
		t.Fatalf("%v, %+v", err, r)
	}
	b := make([]byte, 30)
	if n := r.Put(b); n != len(wire) || !bytes.Equal(b[:n], wire) {
		t.Errorf("%x, want %x", b, wire)
	}
	for n := range wire {
		if err := r.Decode(wire[:n]); !errors.Is(err, BadReadRequest) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestReadResponseFillsItsSink(t *testing.T) {
	type seg struct {
		stag uint32
		to   uint64
		n    int
		last bool
	}
	for _, tc := range []struct {
		name string
		sink *Sink
		segs []seg
		want Rule
	}{
		{"whole", &Sink{7, 100, 10}, []seg{{7, 100, 10, true}, {7, 100, 10, true}}, 0},
		{"three segments", &Sink{7, 100, 10}, []seg{{7, 100, 4, false}, {7, 104, 4, false}, {7, 108, 2, true}}, 0},
		{"empty end", &Sink{7, 100, 10}, []seg{{7, 100, 10, false}, {0, 0, 0, true}}, 0},
		{"of nothing", &Sink{7, 100, 0}, []seg{{1, 0, 0, true}}, 0},
		{"up to the last offset", &Sink{7, math.MaxUint64 - 9, 10}, []seg{{7, math.MaxUint64 - 9, 5, false}, {7, math.MaxUint64 - 4, 5, true}}, 0},
		{"no Read", nil, []seg{{7, 100, 10, true}}, NoReadOutstanding},
		{"no Read, empty", nil, []seg{{7, 100, 0, true}}, NoReadOutstanding},
		{"other STag", &Sink{7, 100, 10}, []seg{{8, 100, 10, true}}, WrongSink},
		{"other offset", &Sink{7, 100, 10}, []seg{{7, 101, 10, true}}, WrongSinkOffset},
		{"gap", &Sink{7, 100, 10}, []seg{{7, 100, 4, false}, {7, 105, 5, true}}, WrongSinkOffset},
		{"too long", &Sink{7, 100, 10}, []seg{{7, 100, 11, false}}, WrongReadSize},
		{"too short", &Sink{7, 100, 10}, []seg{{7, 100, 9, true}}, WrongReadSize},
		{"empty and too short", &Sink{7, 100, 10}, []seg{{7, 100, 0, true}}, WrongReadSize},
		{"too long at the end", &Sink{7, 100, 10}, []seg{{7, 100, 10, false}, {7, 110, 1, true}}, WrongReadSize},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Response
			for i, s := range tc.segs {
				before := r.Done()
				err := r.Accept(tc.sink, s.stag, s.to, s.n, s.last)
				if last := i == len(tc.segs)-1; last && tc.want != 0 {
					if !errors.Is(err, tc.want) || r.Done() != before {
						t.Fatalf("%v, want %v", err, tc.want)
					}
				} else if err != nil {
					t.Fatal(err)
				} else if want := before + uint32(s.n); s.last && r.Done() != 0 || !s.last && r.Done() != want {
					t.Errorf("segment %d: %d bytes done", i, r.Done())
				}
			}
		})
	}
}

var terminates = []struct {
	name, wire string
	t          Terminate
	likely     Cause
}{
	{
		"no buffer", "12020000",
		Terminate{Cause: Cause{LayerDDP, 2, 2}, Swapped: Cause{2, 1, 2}},
		Cause{LayerDDP, 2, 2},
	},
	{
		"CRC", "20020000",
		Terminate{Cause: Cause{LayerLLP, 0, 2}, Swapped: Cause{0, 2, 2}},
		Cause{LayerLLP, 0, 2},
	},
	{
		"Write out of bounds", "1101c000 0030 c140 00000009 0000000000001000",
		Terminate{
			Cause: Cause{LayerDDP, 1, 1}, Swapped: Cause{1, 1, 1}, HasDDP: true, Length: 0x30,
			DDP: ddp.Header{Tagged: true, Last: true, ULP: 0x40, STag: 9, TO: 0x1000},
		},
		Cause{LayerDDP, 1, 1},
	},
	{
		"Read of an invalid STag", "0100e000 002e 4141 00000000 00000001 00000003 00000000 " + readRequest,
		Terminate{
			Cause: Cause{LayerRDMAP, 1, 0}, Swapped: Cause{1, 0, 0}, HasDDP: true, Length: 0x2e,
			DDP: ddp.Header{Last: true, ULP: 0x41, QN: 1, MSN: 3}, HasRead: true, Read: readFields,
		},
		Cause{LayerRDMAP, 1, 0},
	},
}

func TestTerminatesAreReadBack(t *testing.T) {
	for _, v := range terminates {
		wire := unhex(t, v.wire)
		v.t.Control = [4]byte(wire)
		var got Terminate
		if err := got.Decode(wire); err != nil || !cmp.Equal(got, v.t) {
			t.Errorf("%s: %v (-want +got):\n%s", v.name, err, cmp.Diff(v.t, got))
		}
		if got.Likely() != v.likely || !v.likely.Known() {
			t.Errorf("%s: likely %v, want %v", v.name, got.Likely(), v.likely)
		}
		if b := v.t.Append([]byte("x")); !bytes.Equal(b, append([]byte("x"), wire...)) {
			t.Errorf("%s: %x, want %x", v.name, b, wire)
		}
		for n := range wire {
			err := got.Decode(wire[:n:n])
			if (n < 4) != errors.Is(err, BadTerminate) || n >= 4 && (err != nil || got.Cause != v.t.Cause || got.HasRead) {
				t.Errorf("%s: first %d bytes: %v, %+v", v.name, n, err, got)
			}
		}
	}
	var got Terminate
	if err := got.Decode(make([]byte, MaxTerminate+1)); !errors.Is(err, BadTerminate) {
		t.Errorf("%d bytes: %v", MaxTerminate+1, err)
	}
}

// Terminates of Linux on a little-endian machine: layer and error type have changed places, and
// the header bits are at the other end of their byte.
func TestTerminateOfLinux(t *testing.T) {
	for _, tc := range []struct {
		name, wire   string
		likely       Cause
		ddp, request bool
	}{
		{"no buffer", "21020300 0030 4143 00000000 00000000 00000001 00000000", Cause{LayerDDP, 2, 2}, true, false},
		{"tagged bounds", "11010300 0030 c140 00000009 0000000000001000", Cause{LayerDDP, 1, 1}, true, false},
		{"Read of an invalid STag", "10000700 002e 4141 00000000 00000001 00000003 00000000 " + readRequest, Cause{LayerRDMAP, 1, 0}, true, true},
		{"invalidate", "10090300 002e 4144 00000000 00000000 00000003 00000000", Cause{LayerRDMAP, 1, 9}, true, false},
		{"unexpected opcode: both readings are errors", "20060000", Cause{LayerLLP, 0, 6}, false, false},
		{"CRC", "02020000", Cause{LayerLLP, 0, 2}, false, false},
	} {
		var got Terminate
		if err := got.Decode(unhex(t, tc.wire)); err != nil || got.HasDDP != tc.ddp || got.HasRead != tc.request {
			t.Errorf("%s: %v, %+v", tc.name, err, got)
		}
		if got.Likely() != tc.likely {
			t.Errorf("%s: %v, want %v", tc.name, got.Likely(), tc.likely)
		}
	}
}

func TestRulesAndCausesHaveText(t *testing.T) {
	for rule := BadVersion; rule <= TooManyReads; rule++ {
		if text := rule.Error(); !strings.Contains(text, "RFC 5040 §") || strings.HasPrefix(rule.String(), "Rule(") || !rule.Cause().Known() {
			t.Errorf("rule %d: %q, %q, %v", rule, rule.String(), text, rule.Cause())
		}
	}
	unknown := TooManyReads + 1
	if unknown.Error() != "Rule(18)" || unknown.Cause() != (Cause{}) {
		t.Errorf("unknown rule: %q, %v", unknown.Error(), unknown.Cause())
	}
	for _, tc := range []struct{ got, want string }{
		{(&Error{BadOpcode, Immediate, 8, 7}).Error(), "rdmap: Immediate Data: found 0x8, want 0x7: the opcode is at most 7 (RFC 5040 §4.1)"},
		{Cause{0, 1, 2}.String(), "RDMAP error, remote protection, code 2: access rights violation"},
		{Cause{0, 0, 77}.String(), "RDMAP error, local catastrophic, code 77: local catastrophic error"},
		{Cause{1, 2, 2}.String(), "DDP error, untagged buffer, code 2: no buffer available"},
		{Cause{2, 0, 2}.String(), "LLP error, MPA, code 2: wrong CRC"},
		{Cause{5, 6, 7}.String(), "layer 5 error, type 6, code 7: unknown"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}

func TestCodecAllocatesNothing(t *testing.T) {
	request, body := unhex(t, readRequest), unhex(t, terminates[3].wire)
	buf := make([]byte, 0, MaxTerminate)
	sink := Sink{7, 100, 10}
	n := testing.AllocsPerRun(100, func() {
		var r ReadRequest
		var term Terminate
		var resp Response
		if r.Decode(request) != nil || term.Decode(body) != nil || resp.Accept(&sink, 7, 100, 10, true) != nil {
			t.Fatal("refused")
		}
		r.Put(buf[:ReadRequestSize])
		buf = term.Append(buf[:0])
		if !term.Likely().Known() {
			t.Fatal("unknown")
		}
		if _, err := Check(&ddp.Header{ULP: 0x43, Last: true}, 10); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzTerminate reads arbitrary input without a panic. Append returns the same bytes for a whole
// body in the order of RFC 5040.
func FuzzTerminate(f *testing.F) {
	for _, v := range terminates {
		f.Add(unhex(f, v.wire))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var one, two Terminate
		if one.Decode(b) != nil {
			return
		}
		_ = one.Likely().String()
		again := one.Append(nil)
		if len(again) > len(b) {
			t.Fatalf("%d bytes from %d", len(again), len(b))
		}
		if err := two.Decode(again); err != nil || two.Cause != one.Cause || two.HasDDP != one.HasDDP || two.Read != one.Read {
			t.Fatalf("%v: %+v, want %+v", err, two, one)
		}
	})
}

// FuzzResponse checks that accepted segments fill the sink exactly.
func FuzzResponse(f *testing.F) {
	f.Add([]byte{4, 4, 0x82}, uint32(10))
	f.Fuzz(func(t *testing.T, segs []byte, size uint32) {
		var r Response
		sink, done := Sink{7, 100, size}, uint64(0)
		for _, s := range segs {
			n, last := int(s&0x7f), s&0x80 != 0
			if r.Accept(&sink, 7, 100+done, n, last) != nil {
				return
			}
			if done += uint64(n); done > uint64(size) || last && done != uint64(size) {
				t.Fatalf("%d bytes of %d", done, size)
			}
			if last {
				done = 0
			}
		}
	})
}
