package stranger

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The CRC agrees with the dumps in RFC 5044 §4.4, which have Markers.
func TestCRCAgreesWithTheDumps(t *testing.T) {
	zeros := strings.Repeat("00", 24)
	for name, dump := range map[string]string{
		"figure 5": "0000 0000 002a 4143 00000000 00000000 00000001 00000000" + zeros + "52239983",
		"figure 6": "002a 4143 00000000 00000000 00000002 00000000 0000 0014" + zeros + "84925898",
	} {
		if b := unhex(t, dump); !bytes.Equal(Reseal(bytes.Clone(b)), b) {
			t.Errorf("%s: CRC %x, want %x", name, Reseal(bytes.Clone(b))[len(b)-4:], b[len(b)-4:])
		}
	}
	if got := CRC32C([]byte("123456789")); got != 0xe3069283 {
		t.Errorf("CRC %#x of the digits, want 0xe3069283", got)
	}
}

// streams are the kinds of streams of a connection.
var streams = map[string]func(t testing.TB) (a, b net.Conn){
	"pipe": func(t testing.TB) (a, b net.Conn) { return net.Pipe() },
	"TCP":  tcp,
}

func tcp(t testing.TB) (a, b net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if a, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// connect returns both ends of a connection.
func connect(t testing.TB, stream func(t testing.TB) (a, b net.Conn), initiator, responder Config) (i, r *Endpoint) {
	t.Helper()
	a, b := stream(t)
	done := make(chan error, 1)
	go func() {
		var err error
		r, err = Respond(b, responder)
		done <- err
	}()
	i, err := Initiate(a, initiator)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	t.Cleanup(r.Close)
	return i, r
}

// noComplaints checks that both ends kept the rules for senders.
func noComplaints(t testing.TB, ends ...*Endpoint) {
	t.Helper()
	for _, p := range ends {
		for _, c := range p.Complaints() {
			t.Errorf("initiator %t: %s", p.Initiator, c)
		}
	}
}

// message waits for a message.
func message(t testing.TB, p *Endpoint, want Event) {
	t.Helper()
	got := p.Next()
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })); d != "" {
		t.Fatalf("event %v (-want +got):\n%s", got, d)
	}
}

func enhanced(s Startup) Startup {
	s.Enhanced = true
	if s.IRD == 0 {
		s.IRD, s.ORD = 4, 4
	}
	return s
}

// Each operation works in both directions, over each stream, with and without CRCs.
func TestEachOperationWorksInBothDirections(t *testing.T) {
	for name, stream := range streams {
		for _, crc := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " with CRC"}[crc], func(t *testing.T) {
				i, r := connect(t, stream, Config{Startup: enhanced(Startup{CRC: crc, Private: []byte("hi")})}, Config{Startup: enhanced(Startup{Private: []byte("ho")})})
				if i.CRC != crc || r.CRC != crc || string(i.Peer.Private) != "ho" || string(r.Peer.Private) != "hi" {
					t.Fatalf("CRC %t, %t, private data %q, %q", i.CRC, r.CRC, i.Peer.Private, r.Peer.Private)
				}
				for _, ends := range [][2]*Endpoint{{i, r}, {r, i}} {
					operations(t, ends[0], ends[1])
				}
				noComplaints(t, i, r)
				i.CloseWrite()
				message(t, r, Event{Kind: Ended})
			})
		}
	}
}

// operations runs each operation from a to b.
func operations(t *testing.T, a, b *Endpoint) {
	t.Helper()
	long := bytes.Repeat([]byte("0123456789"), 1000)
	b.Expose(7, Region{Base: 1 << 40, Bytes: make([]byte, 20000), ReadOK: true, WriteOK: true, InvalidOK: true})
	a.Expose(9, Region{Base: 500, Bytes: make([]byte, 20000)})
	b.Post(20000, 5, 0, 20000)
	a.Send(Send, long, 0)
	message(t, b, Event{Kind: Message, Opcode: Send, Payload: long})
	a.Send(SendSE, []byte("hello"), 0)
	message(t, b, Event{Kind: Message, Opcode: SendSE, Payload: []byte("hello")})
	a.Send(Send, nil, 0)
	message(t, b, Event{Kind: Message, Opcode: Send})

	a.Write(7, 1<<40+3, long)
	a.Write(12345, 1<<63, nil)
	a.Read(Read{SinkSTag: 9, SinkTO: 501, Size: uint32(len(long)), SourceSTag: 7, SourceTO: 1<<40 + 3})
	a.Read(Read{SinkSTag: 99, SinkTO: 1, SourceSTag: 98, SourceTO: 2})
	message(t, a, Event{Kind: ReadDone})
	message(t, a, Event{Kind: ReadDone})
	if got, _ := a.Memory(9); !bytes.Equal(got[1:1+len(long)], long) || got[0] != 0 || got[1+len(long)] != 0 {
		t.Error("the Read did not return what the Write wrote")
	}
	a.Send(SendInvalidate, long, 7)
	message(t, b, Event{Kind: Message, Opcode: SendInvalidate, Payload: long, STag: 7})
	if _, valid := b.Memory(7); valid {
		t.Error("the region is still valid")
	}
}

// Each RTR indication goes first, and no message of it is seen above (RFC 6581 §9.2).
func TestRTRIndicationGoesFirst(t *testing.T) {
	all := Startup{PeerToPeer: true, SendRTR: true, WriteRTR: true, ReadRTR: true}
	for _, tt := range []struct {
		name   string
		offer  Startup
		answer Startup
		first  Opcode
	}{
		{"Send", Startup{PeerToPeer: true, SendRTR: true}, all, Send},
		{"Write", Startup{PeerToPeer: true, WriteRTR: true}, all, Write},
		{"Read", Startup{PeerToPeer: true, ReadRTR: true}, all, ReadRequest},
		{"all offered, Read answered", all, Startup{ReadRTR: true}, ReadRequest},
		{"all offered, Send answered", all, Startup{SendRTR: true}, Send},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i, r := connect(t, tcp, Config{Startup: enhanced(tt.offer)}, Config{Startup: enhanced(tt.answer)})
			i.Post(10)
			r.Post(10)
			r.Send(Send, []byte("first"), 0) // waits for the indication
			message(t, i, Event{Kind: Message, Opcode: Send, Payload: []byte("first")})
			i.Send(Send, []byte("second"), 0)
			message(t, r, Event{Kind: Message, Opcode: Send, Payload: []byte("second")})
			if got := r.Received()[0]; got.Opcode != tt.first {
				t.Errorf("first opcode %d, want %d", got.Opcode, tt.first)
			}
			noComplaints(t, i, r)
		})
	}
	t.Run("none in common", func(t *testing.T) {
		a, b := tcp(t)
		ended := make(chan Event, 1)
		go func() {
			r, err := Respond(b, Config{Startup: enhanced(Startup{WriteRTR: true})})
			if err != nil {
				ended <- Event{Err: err}
				return
			}
			defer r.Close()
			ended <- r.Next()
		}()
		i, err := Initiate(a, Config{Startup: enhanced(Startup{PeerToPeer: true, SendRTR: true})})
		if !errors.Is(err, ErrNoRTR) {
			t.Errorf("error %v, want %v", err, ErrNoRTR)
		}
		defer i.Close()
		if e := <-ended; e.Kind != Terminated || e.Terminate.Code != MPANoRTR {
			t.Errorf("%v, want a Terminate with %v", e, MPANoRTR)
		}
	})
}

func TestFramesOfTheSetUpAreReadBack(t *testing.T) {
	reject := func(t *testing.T, s Startup) error {
		a, b := tcp(t)
		defer a.Close()
		defer b.Close()
		go Respond(b, Config{Startup: Startup{Reject: true, Private: []byte("no"), IRD: 3, ORD: 5}})
		_, err := Initiate(a, Config{Startup: s})
		return err
	}
	var no *RejectedError
	if err := reject(t, Startup{}); !errors.As(err, &no) || string(no.Reply.Private) != "no" {
		t.Errorf("rejected with %v", err)
	}
	if err := reject(t, enhanced(Startup{})); !errors.As(err, &no) || no.Reply.IRD != 3 || string(no.Reply.Private) != "no" {
		t.Errorf("rejected with %v", err)
	}
	frames := map[string]Startup{
		"request":  {CRC: true, Revision: 1, Private: []byte("abc")},
		"reply":    {Reply: true, Markers: true, Reject: true, Revision: 1, Reserved: 7, Private: []byte{}},
		"enhanced": {Revision: 2, Enhanced: true, PeerToPeer: true, ReadRTR: true, IRD: 0x1234, ORD: 0x3fff, Private: []byte("x")},
		"flags":    {Revision: 2, Enhanced: true, SendRTR: true, WriteRTR: true, Private: []byte{}},
	}
	for name, s := range frames {
		got, err := ReadStartup(bytes.NewReader(s.Bytes()), s.Reply)
		if d := cmp.Diff(s, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
		for n := range len(s.Bytes()) {
			if _, err := ReadStartup(bytes.NewReader(s.Bytes()[:n]), s.Reply); err == nil {
				t.Errorf("%s: no error after %d bytes", name, n)
			}
		}
	}
	for name, s := range map[string]Startup{
		"key": {Reply: true}, "revision 3": {Revision: 3}, "revision 0xff": {Revision: 255},
		"513 bytes": {Private: make([]byte, 513)},
	} {
		if _, err := ReadStartup(bytes.NewReader(s.Bytes()), false); !errors.Is(err, ErrStartup) {
			t.Errorf("%s: error %v, want %v", name, err, ErrStartup)
		}
	}
}

// region returns the i-th region of a victim.
func region(rights Region, i int) (Key, Region) {
	k := Key{STag: 0x1000 + uint32(i)*0x100 + 0x33, Base: 1<<32 + uint64(i)<<16}
	rights.Base, rights.Bytes = k.Base, bytes.Repeat([]byte{VictimPoison}, VictimRegion)
	return k, rights
}

// victim makes an endpoint the victim of cases.
func victim(p *Endpoint) *Victim {
	v := &Victim{}
	for i, r := range []struct {
		key *Key
		Region
	}{
		{&v.Full, Region{ReadOK: true, WriteOK: true, InvalidOK: true}},
		{&v.ReadOnly, Region{ReadOK: true, InvalidOK: true}},
		{&v.WriteOnly, Region{WriteOK: true, InvalidOK: true}},
		{&v.Kept, Region{ReadOK: true, WriteOK: true}},
		{&v.Foreign, Region{ReadOK: true, WriteOK: true, InvalidOK: true, OtherStream: true}},
		{&v.Revoked, Region{ReadOK: true, WriteOK: true, InvalidOK: true, Invalid: true}},
	} {
		key, reg := region(r.Region, i)
		*r.key = key
		p.Expose(key.STag, reg)
	}
	p.Post(VictimBuffer, VictimBuffer)
	return v
}

// The endpoint itself answers every case as it should, in both roles.
func TestEndpointAnswersEachCase(t *testing.T) {
	for _, c := range slices.Concat(Untagged(), Tagged(), Framing()) {
		for _, initiator := range []bool{true, false} {
			t.Run(c.Name, func(t *testing.T) {
				wish := Config{Startup: enhanced(Startup{CRC: true, IRD: VictimDepth, ORD: VictimDepth})}
				a, b := connect(t, tcp, wish, wish)
				if !initiator {
					b.Post(1)
					a.Send(Send, nil, 0) // opens the way for the responder
					b.Next()
					a, b = b, a
				}
				v := victim(b)
				c.Put(a, v)
				for {
					e := a.Next()
					if e.Kind == Message || e.Kind == ReadDone {
						continue
					}
					checkTerminate(t, &c, e)
					break
				}
				for _, k := range []Key{v.Full, v.ReadOnly, v.WriteOnly, v.Kept, v.Foreign, v.Revoked} {
					if m, _ := b.Memory(k.STag); bytes.Count(m, []byte{VictimPoison}) != VictimRegion {
						t.Errorf("region %#x changed", k.STag)
					}
				}
			})
		}
	}
}

func checkTerminate(t *testing.T, c *Case, e Event) {
	t.Helper()
	if e.Kind != Terminated || len(c.Codes) > 0 && !slices.Contains(c.Codes, e.Terminate.Code) {
		t.Errorf("%v, want a Terminate with one of %v (%s)", e, c.Codes, c.Cite)
	}
}

// Random operations in both directions, in pieces of any size, leave the memories that they should.
func TestRandomOperationsLeaveWhatTheyShould(t *testing.T) {
	const size = 4096
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		chop := func(n int) int { return 1 + rand.N(2*n) }
		a, b := connect(t, tcp, Config{Startup: enhanced(Startup{CRC: seed%2 == 0, ORD: 8, IRD: 8}), Chop: chop}, Config{Startup: enhanced(Startup{ORD: 8, IRD: 8}), Chop: chop, MaxULPDU: 128})
		ends := []*Endpoint{a, b}
		model := [2][]byte{make([]byte, size), make([]byte, size)}
		for i, p := range ends {
			p.Expose(uint32(i+1), Region{Bytes: make([]byte, size), ReadOK: true, WriteOK: true})
		}
		for step := range 300 {
			from := rnd.IntN(2)
			if step == 0 {
				from = 0
			}
			p, q := ends[from], ends[1-from]
			n := rnd.IntN(600)
			x, y := rnd.IntN(size-n), rnd.IntN(size-n)
			switch rnd.IntN(3) {
			case 0:
				data := make([]byte, n)
				for i := range data {
					data[i] = byte(rnd.Uint32())
				}
				p.Write(uint32(2-from), uint64(x), data)
				copy(model[1-from][x:], data)
			case 1:
				p.Read(Read{SinkSTag: uint32(from + 1), SinkTO: uint64(x), Size: uint32(n), SourceSTag: uint32(2 - from), SourceTO: uint64(y)})
				message(t, p, Event{Kind: ReadDone})
				copy(model[from][x:x+n], model[1-from][y:])
				continue
			}
			q.Post(n)
			p.Send(Send, model[from][x:x+n], 0) // and fences the Write
			message(t, q, Event{Kind: Message, Opcode: Send, Payload: model[from][x : x+n]})
		}
		for i, p := range ends {
			if m, _ := p.Memory(uint32(i + 1)); !bytes.Equal(m, model[i]) {
				t.Errorf("seed %d: memory %d differs from the model", seed, i)
			}
		}
		noComplaints(t, a, b)
	}
}

// A responder sends nothing before the first FPDU, and no more Reads than the depth are accepted.
func TestResponderWaitsForTheFirstFPDU(t *testing.T) {
	a, b := connect(t, tcp, Config{Startup: enhanced(Startup{})}, Config{Startup: enhanced(Startup{IRD: 2, ORD: 2}), HoldReads: true})
	a.Post(10)
	b.Send(Send, []byte("early"), 0)
	if e, ok := a.Poll(5 * time.Millisecond); ok {
		t.Fatalf("%v before the first FPDU (RFC 5044 §7.1.2)", e)
	}
	a.Read(Read{})
	message(t, a, Event{Kind: Message, Opcode: Send, Payload: []byte("early")})
	a.Read(Read{})
	for b.Waiting() < 2 {
		time.Sleep(time.Millisecond)
	}
	if n := b.Answer(1); n != 1 {
		t.Fatalf("%d answered", n)
	}
	message(t, a, Event{Kind: ReadDone})
	a.Read(Read{})
	a.Read(Read{})
	if e := a.Next(); e.Kind != Terminated || e.Terminate.Code != DDPNoBuffer {
		t.Errorf("third Read outstanding: %v", e)
	}
	noComplaints(t, a, b)
}

// A sender that breaks rules of senders is noticed.
func TestSenderThatBreaksRulesIsNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		put  func(p *Endpoint)
		want string
	}{
		"reserved": {func(p *Endpoint) {
			s := one(p.DueSend(Send, nil, 0))
			s.DDPReserved, s.RDMAPReserved = 1, 2
			p.Put(s)
		}, "reserved bits 1, 2"},
		"Invalidate STag": {func(p *Endpoint) { p.Send(Send, nil, 5) }, "Invalidate STag 0x5"},
		"pad": {func(p *Endpoint) {
			b := p.Wire(p.DueSend(Send, []byte("a"), 0)...)
			b[len(b)-5] = 1
			p.PutBytes(Reseal(b))
		}, "pad"},
		"empty segment": {func(p *Endpoint) {
			s := one(p.DueSend(Send, nil, 0))
			s.Last = false
			last := s
			last.Last, last.Payload = true, []byte("x")
			p.Put(s, last)
		}, "of no bytes is not the last"},
		"interleaved": {func(p *Endpoint) {
			s := one(p.DueSend(Send, []byte("a"), 0))
			s.Last = false
			last := s
			last.Last, last.MO = true, 1
			p.Put(s, one(p.DueWrite(0, 0, nil)), last)
		}, "opcode 0 within a message of opcode 3"},
	} {
		a, b := connect(t, tcp, Config{Startup: Startup{CRC: true}}, Config{})
		b.Post(10)
		tt.put(a)
		if e := b.Next(); e.Kind != Message {
			t.Errorf("%s: %v", name, e)
		}
		if c := b.Complaints(); len(c) == 0 || !strings.Contains(c[0], tt.want) {
			t.Errorf("%s: complaints %q, want %q", name, c, tt.want)
		}
	}
}

func TestTerminateBytes(t *testing.T) {
	s := header(Send, true)
	for _, want := range []Terminate{
		{Code: MPACRC},
		{Code: DDPInvalidMSN, M: true, D: true, Length: 20, DDP: s.Header()},
		{Code: RDMAPBounds, M: true, D: true, R: true, Length: 46, DDP: s.Header(), RDMA: (&Read{Size: 7}).Bytes()},
	} {
		got, err := ParseTerminate(want.Bytes())
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v: %v\n%s", want.Code, err, d)
		}
		for n := range len(want.Bytes()) {
			if _, err := ParseTerminate(want.Bytes()[:n]); err == nil {
				t.Errorf("%v: no error after %d bytes", want.Code, n)
			}
		}
	}
	if got, want := DDPNoBuffer.String(), "DDP: no buffer available (1/2/2)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A stream that breaks off within an FPDU is reported.
func TestTruncatedStreamIsReported(t *testing.T) {
	b := Frame([]byte("123456789"), true)
	for n := range len(b) {
		_, err := ReadFPDU(bytes.NewReader(b[:n]))
		if n == 0 && err != io.EOF || n > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// No ULPDU makes the endpoint panic, or changes a region that it does not name.
func FuzzULPDU(f *testing.F) {
	for _, s := range []Segment{header(Send, true), header(Write, true), header(ReadRequest, true), header(TerminateOp, true)} {
		f.Add(s.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16-1 {
			return
		}
		a, z := net.Pipe()
		go io.Copy(io.Discard, a)
		p := Attach(z, Config{}, true, Startup{})
		defer p.Close()
		p.Expose(1, Region{Bytes: make([]byte, 16)})
		go a.Write(Frame(b, false))
		if _, err := ParseSegment(b); err == nil {
			p.Poll(time.Millisecond)
		}
		if m, _ := p.Memory(1); !bytes.Equal(m, make([]byte, 16)) {
			t.Error("a region without rights changed")
		}
		a.Close()
	})
}

// No startup frame and no Terminate Header makes a decoder panic, and what it reads it also writes.
func FuzzHeaders(f *testing.F) {
	f.Add((&Startup{Enhanced: true, IRD: 1, Private: []byte("x")}).Bytes())
	f.Add((&Terminate{Code: MPACRC, M: true, D: true, DDP: make([]byte, UntaggedHeader)}).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ReadStartup(bytes.NewReader(b), false); err == nil && s.Enhanced == (b[16]&0x10 != 0) {
			n := len(s.Bytes())
			if !bytes.Equal(s.Bytes(), b[:n]) {
				t.Errorf("frame %x, want %x", s.Bytes(), b[:n])
			}
		}
		if h, err := ParseTerminate(b); err == nil && !bytes.HasPrefix(b, h.Bytes()) {
			t.Errorf("Terminate %x, want %x", h.Bytes(), b)
		}
	})
}
