package rdmatcp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Every field of Config that package stream has, too, reaches it. Without the profile there are no
// reports, and requests may have additions.
func TestConfigReachesStream(t *testing.T) {
	var c Config
	own := reflect.ValueOf(&c).Elem()
	for i := range own.NumField() {
		switch f := own.Field(i); f.Kind() {
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(1000 + i))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		}
	}
	c.Raw, c.Rand = nil, bytes.NewReader(nil)
	got := c.stream(verbs.DeviceAttributes{Name: "a"})
	there, same := reflect.ValueOf(got), 0
	for i := range own.NumField() {
		name := own.Type().Field(i).Name
		if f := there.FieldByName(name); f.IsValid() {
			if same++; !reflect.DeepEqual(f.Interface(), own.Field(i).Interface()) {
				t.Errorf("%s is %v, want %v", name, f, own.Field(i))
			}
		}
	}
	if same != 16 {
		t.Errorf("%d fields are as in package stream, want 16", same)
	}
	if got.Attrs.Name != "a" || got.Addresses || got.NoReports != "" || got.Attach != nil || got.ALPN != ALPN || got.Provider != "rdmatcp" || got.Shape.Whole || got.Shape.SumFirst {
		t.Errorf("%+v", got)
	}
	attach := func(uint32, verbs.SendWR) (uint8, []byte) { return 0, nil }
	if c.Raw = (&RawConfig{}); c.stream(got.Attrs).NoReports == "" || c.stream(got.Attrs).Attach != nil {
		t.Error("without the profile there are reports, or additions that are not asked for")
	}
	if c.Raw.Attach = attach; c.stream(got.Attrs).Attach == nil {
		t.Error("additions are not asked for")
	}
}

// The defaults of the fields that package stream does not know. The caller's RawConfig stays as it
// is.
func TestConfigDefaults(t *testing.T) {
	raw := &RawConfig{}
	c := Config{Raw: raw}.fill()
	if c.Name != "rdmatcp0" || c.Raw.MaxSend != 16<<20 || c.Raw.MaxControl != 64<<10 || c.Raw.PeerResources != 16 || raw.MaxSend != 0 {
		t.Errorf("%+v, %+v, %+v", c, c.Raw, raw)
	}
	raw = &RawConfig{MaxSend: 1, MaxControl: -1, PeerResources: 2}
	if c := (Config{Name: "n", Raw: raw}).fill(); c.Name != "n" || c.Raw.MaxSend != 1 || c.Raw.MaxControl != math.MaxInt || c.Raw.PeerResources != 2 {
		t.Errorf("%+v, %+v", c, c.Raw)
	}
}

// Each side has as many Reads outstanding as it wants and the other serves.
func TestNegotiatedDepths(t *testing.T) {
	for _, tt := range []struct{ depth, resources, theirs, wanted, wantDepth, wantResources int }{
		{3, 5, 9, 9, 3, 5}, {9, 9, 3, 5, 3, 5}, {4, 7, 4, 7, 4, 7}, {0, 0, 9, 9, 0, 0},
	} {
		f := &framer{}
		remote := &hello{maxSend: 77, resources: uint16(tt.theirs), depth: uint16(tt.wanted), private: []byte("p")}
		s := f.session(remote, &verbs.ConnParams{InitiatorDepth: tt.depth, ResponderResources: tt.resources})
		if s.InitiatorDepth != tt.wantDepth || s.ResponderResources != tt.wantResources || s.MaxSend != 77 || string(s.PrivateData) != "p" || s.Framer != stream.Framer(f) || s.Sum == nil {
			t.Errorf("%+v: %+v", tt, s)
		}
		p := &profile{raw: &RawConfig{MaxSend: 88, PeerResources: tt.theirs}}
		s = p.rawSession(f, &verbs.ConnParams{InitiatorDepth: tt.depth, ResponderResources: tt.resources})
		if s.InitiatorDepth != min(tt.depth, tt.theirs) || s.ResponderResources != tt.resources || s.MaxSend != 88 || s.Framer != stream.Framer(f) || s.Sum == nil {
			t.Errorf("without profile, %+v: %+v", tt, s)
		}
	}
}

// The negative answers are hellos with a flag each, and the private data of the application.
// Without the profile nothing is sent.
func TestNegativeAnswers(t *testing.T) {
	o := &offer{profile: &profile{}, framer: &framer{number: 9, stream: segment.Stream{ConnID: 5, Known: true}}}
	for flag, b := range map[uint8][]byte{flagReject: o.Reject([]byte("why")), flagRefused: o.Refuse()} {
		var h segment.Header
		control, _, n, err := segment.Open(b, &h)
		var got hello
		if err == nil {
			err = got.decode(&h, control)
		}
		want := ""
		if flag == flagReject {
			want = "why"
		}
		if err != nil || n != len(b) || h.ConnID != 5 || h.Number != 9 || got.flags != flag || string(got.private) != want {
			t.Errorf("flag %d: %+v, %+v, %v", flag, h, got, err)
		}
	}
	o.hello.private = []byte("of the peer")
	if string(o.PrivateData()) != "of the peer" {
		t.Errorf("%q", o.PrivateData())
	}
	o.profile.raw = &RawConfig{}
	if o.Reject(nil) != nil || o.Refuse() != nil {
		t.Error("there is an answer without the profile")
	}
}

// Control data of a message is collected from all its segments, apart for the two groups, and given
// to the client protocol once, at the end of a message that has some. A large buffer is not kept.
func TestControlOfRawMessages(t *testing.T) {
	var got []ControlData
	raw := &RawConfig{MaxControl: 10 << 10, Control: func(d ControlData) {
		d.Data = bytes.Clone(d.Data)
		got = append(got, d)
	}}
	f := &framer{raw: raw}
	add := func(h segment.Header, control string) {
		t.Helper()
		f.head = h
		f.beginControl(&f.head)
		if err := f.Control(nil, []byte(control)); err != nil {
			t.Fatal(err)
		}
	}
	send := segment.Header{Type: segment.Send, Number: 7, Begin: true, Res: 3}
	read := segment.Header{Type: segment.ReadResponse, Number: 8, Begin: true}
	add(send, "one ")
	add(read, "of a response")
	send.Begin, send.Res = false, 9
	add(send, "message")
	f.Observe(nil, 4)
	f.head = read
	f.Observe(nil, 4)
	add(segment.Header{Type: segment.Write, Number: 9, Begin: true}, "")
	f.Observe(nil, 4)
	add(segment.Header{Type: segment.Write, Number: 10, Begin: true, Res: 1}, "")
	f.Observe(nil, 4)
	want := []ControlData{
		{QPNum: 4, Type: SendMessage, Number: 7, Res: 3, Data: []byte("one message")},
		{QPNum: 4, Type: ReadResponseMessage, Number: 8, Data: []byte("of a response")},
		{QPNum: 4, Type: WriteMessage, Number: 10, Res: 1, Data: []byte{}},
	}
	for i := range want {
		if i >= len(got) || !bytes.Equal(got[i].Data, want[i].Data) {
			t.Fatalf("message %d: %+v, want %+v", i, got, want[i])
		}
		if got[i].Data = want[i].Data; !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("message %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d messages, want %d", len(got), len(want))
	}
	for _, n := range []int{controlMemory, 2 * controlMemory} {
		add(segment.Header{Type: segment.Send, Begin: true, Number: 3}, string(make([]byte, n)))
		f.rawControl[0].data = f.rawControl[0].data[:n:max(n, controlMemory)]
		if f.Observe(nil, 4); (f.rawControl[0].data != nil) != (n <= controlMemory) {
			t.Errorf("a buffer of %d bytes is kept: %v", n, f.rawControl[0].data != nil)
		}
	}
	add(segment.Header{Type: segment.Send, Begin: true, Number: 3}, string(make([]byte, raw.MaxControl)))
	var refusal *stream.Refusal
	if err := f.Control(nil, []byte("more")); !errors.As(err, &refusal) || refusal.Reason != stream.ReasonFormat || refusal.Number != 3 {
		t.Errorf("%v", err)
	}
	raw.Control = nil
	if err := f.Control(nil, []byte("more")); err != nil {
		t.Error(err)
	}
}

// The profile reads the bits of the first segment and the first words of control data, of all
// messages but Read_Responses.
func TestControlOfTheProfile(t *testing.T) {
	f := &framer{}
	add := func(h segment.Header, control string) {
		f.head = h
		f.beginControl(&f.head)
		f.Control(nil, []byte(control))
	}
	add(segment.Header{Type: segment.Send, Begin: true, Res: 8}, "abcd")
	add(segment.Header{Type: segment.ReadResponse, Begin: true, Res: 1}, "xxxx")
	add(segment.Header{Type: segment.Send, Res: 2}, "efghijklmnop")
	if f.res != 8 || f.controlLen != 12 || string(f.control[:]) != "abcdefghijkl" {
		t.Errorf("bits %d, %d bytes: %q", f.res, f.controlLen, f.control)
	}
	if add(segment.Header{Type: segment.Send, Begin: true, Res: 1}, "z"); f.res != 1 || f.controlLen != 1 || f.control[0] != 'z' {
		t.Errorf("the next message: bits %d, %d bytes: %q", f.res, f.controlLen, f.control)
	}
}

// Additions to requests are copied. A LocalInvalidate has no addition. An addition of a wrong size
// is refused.
func TestAdditionsToRequestsAreCopied(t *testing.T) {
	if (&RawConfig{}).attach() != nil {
		t.Error("there are additions")
	}
	shared := []byte("abcd")
	var asked []uint32
	raw := &RawConfig{Attach: func(qp uint32, wr verbs.SendWR) (uint8, []byte) {
		asked = append(asked, qp)
		switch wr.WRID {
		case 1:
			return 0, shared
		case 2:
			return 5, nil
		}
		return 0, nil
	}}
	all := raw.attach()(6, []verbs.SendWR{{WRID: 1}, {WRID: 2}, {WRID: 3}, {WRID: 1, Opcode: verbs.LocalInvalidate}})
	copy(shared, "xxxx")
	if len(all) != 4 || all[2] != nil || all[3] != nil || len(asked) != 3 || asked[0] != 6 {
		t.Fatalf("%v, asked %v", all, asked)
	}
	if one, two := all[0].(*controlData), all[1].(*controlData); string(one.data) != "abcd" || one.res != 0 || two.res != 5 || len(two.data) != 0 {
		t.Errorf("%+v, %+v", one, two)
	}
	for _, tt := range []struct {
		res uint8
		n   int
		ok  bool
	}{{0xf, 0, true}, {0x10, 0, false}, {0, segment.MaxControl, true}, {0, segment.MaxControl + 4, false}, {0, 4, true}, {0, 6, false}} {
		if err := (&controlData{res: tt.res, data: make([]byte, tt.n)}).Check(); (err == nil) != tt.ok || err != nil && !errors.Is(err, verbs.ErrInvalidWR) {
			t.Errorf("bits %#x, %d bytes: %v", tt.res, tt.n, err)
		}
	}
}

// Messages are divided evenly, in steps of 64 bytes, into as few segments as their control data
// allows.
func TestMessagesAreDividedEvenly(t *testing.T) {
	for _, tt := range []struct{ total, most, want int }{
		{0, 100, 0}, {100, 100, 100}, {101, 100, 64}, {200, 100, 100}, {1000, 300, 256}, {1 << 20, 65000, 61696},
	} {
		got := perSegment(tt.total, tt.most)
		if got != tt.want || got > tt.most {
			t.Errorf("%d bytes in segments of at most %d: %d, want %d", tt.total, tt.most, got, tt.want)
		}
	}
	for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite} {
		most := typeOf(op).MaxPayload()
		for _, n := range []int{0, 4, 8, 400} {
			f := &framer{number: 41}
			r := &stream.Request{Request: soft.Request{Opcode: op, Total: most}}
			if n > 0 {
				r.Extra = &controlData{data: make([]byte, n)}
			}
			if what := f.Begin(r); what != "" || r.Number != 41 || f.number != 42 || f.segmentSize > most-max(n, 8) || f.segmentSize < most/2 {
				t.Errorf("%v with %d bytes of control data: %q, segments of %d bytes", op, n, what, f.segmentSize)
			}
			r.Total = most - max(n, 8)
			if f.Begin(r); f.segmentSize != r.Total {
				t.Errorf("%v with %d bytes of control data: %d bytes do not fit a segment", op, n, r.Total)
			}
		}
	}
}

// Offsets have 32 bits: a range may end at 2^32, and not beyond (R334). A Send and an empty range
// have no offset.
func TestOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		op    verbs.Opcode
		addr  uint64
		n     int
		fails bool
	}{
		{verbs.RDMAWrite, 1<<32 - 8, 8, false}, {verbs.RDMAWrite, 1<<32 - 8, 9, true}, {verbs.RDMARead, 1<<32 - 8, 9, true},
		{verbs.RDMARead, 1 << 32, 1, true}, {verbs.RDMARead, 1<<64 - 1, 1, true}, {verbs.RDMARead, 1 << 40, 0, false}, {verbs.Send, 1 << 40, 8, false},
	} {
		f := &framer{number: 5}
		r := &stream.Request{Request: soft.Request{Opcode: tt.op, Addr: tt.addr, Total: tt.n}}
		if what := f.Begin(r); (what != "") != tt.fails || tt.fails && (f.number != 5 || r.Number != 0) {
			t.Errorf("%v of %d bytes at %#x: %q, next number %d", tt.op, tt.n, tt.addr, what, f.number)
		}
	}
}

// The headers of all segments of a request, with control data in the first one alone.
func TestSegmentsOfRequests(t *testing.T) {
	profile, raw := &framer{}, &framer{raw: &RawConfig{}}
	extra := &controlData{res: 5, data: []byte("abcdefgh")}
	for _, tt := range []struct {
		what    string
		f       *framer
		op      verbs.Opcode
		flags   verbs.SendFlags
		extra   *controlData
		sent    int
		res     uint8
		control string
		want    segment.Header
	}{
		{"Send", profile, verbs.Send, 0, nil, 0, 0, "", segment.Header{Type: segment.Send}},
		{"a further segment", profile, verbs.Send, verbs.SendSolicited, nil, 40, resSolicited, "", segment.Header{Type: segment.Send, Offset: 40}},
		{"with invalidate", profile, verbs.SendWithInvalidate, verbs.SendSolicited, nil, 0, resSolicited | resControl, "\x00\x00\x00\x01\x00\x00\x00\x4d", segment.Header{Type: segment.Send}},
		{"its further segment", profile, verbs.SendWithInvalidate, 0, nil, 40, resControl, "", segment.Header{Type: segment.Send, Offset: 40}},
		{"without profile", raw, verbs.Send, verbs.SendSolicited, extra, 0, 5, "abcdefgh", segment.Header{Type: segment.Send}},
		{"its further segment without profile", raw, verbs.Send, 0, extra, 40, 5, "", segment.Header{Type: segment.Send, Offset: 40}},
		{"Write", profile, verbs.RDMAWrite, 0, nil, 0, 0, "", segment.Header{Type: segment.Write, BufferID: 8, Offset: 1000, RDMALength: 100, Order: segment.NoOrder}},
		{"a further segment of a Write", profile, verbs.RDMAWrite, 0, nil, 40, 0, "", segment.Header{Type: segment.Write, BufferID: 8, Offset: 1040, RDMALength: 100, Order: segment.NoOrder}},
		{"Read", profile, verbs.RDMARead, 0, nil, 0, 0, "", segment.Header{Type: segment.ReadRequest, BufferID: 8, Offset: 1000, RDMALength: 100}},
	} {
		for _, last := range []bool{true, false} {
			tt.f.stream.ConnID = 99
			r := &stream.Request{Request: soft.Request{Opcode: tt.op, Flags: tt.flags, RKey: 8, Addr: 1000, Invalidate: 77, Total: 100}, Number: 6, Sent: tt.sent}
			if tt.extra != nil {
				r.Extra = tt.extra
			}
			n := 20
			if tt.op == verbs.RDMARead {
				n, last = 0, true
			}
			b := tt.f.PutRequest([]byte("before"), r, n, last)[len("before"):]
			var h segment.Header
			size := tt.want.Type.HeaderSize()
			if err := (&segment.Stream{}).Decode(&h, b[:size]); err != nil {
				t.Fatalf("%s: %v", tt.what, err)
			}
			if h.Payload() != n || h.Control() != len(tt.control) || string(b[size:]) != tt.control {
				t.Errorf("%s: %d bytes of payload, %q of control data", tt.what, h.Payload(), b[size:])
			}
			want := tt.want
			want.ConnID, want.Number, want.Res, want.Begin, want.End, want.CLEN = 99, 6, tt.res, tt.sent == 0, last, uint8(len(tt.control)/4)
			if want.Length = h.Length; h != want {
				t.Errorf("%s: %+v, want %+v", tt.what, h, want)
			}
		}
	}
	f := &framer{stream: segment.Stream{ConnID: 99}}
	r := &stream.Response{Number: 12, Total: 100, Sent: 40}
	var h segment.Header
	b := f.PutResponse(nil, r, 60, true)
	if err := (&segment.Stream{}).Decode(&h, b); err != nil || h.Type != segment.ReadResponse || h.Number != 12 || h.Offset != 40 || h.Begin || !h.End || h.Payload() != 60 || h.Order != segment.NoOrder || h.ConnID != 99 {
		t.Errorf("a Read_Response: %+v, %v", h, err)
	}
	if n, last := f.NextResponse(r); n != 60 || !last {
		t.Errorf("the rest of a Read_Response: %d bytes, last %v", n, last)
	}
	most := segment.ReadResponse.MaxPayload()
	if n, last := f.NextResponse(&stream.Response{Total: most + 1}); n >= most || n < most/2 || last {
		t.Errorf("a long Read_Response: %d bytes, last %v", n, last)
	}
	f.segmentSize = 64
	if n, last := f.Next(&stream.Request{Request: soft.Request{Opcode: verbs.Send, Total: 100}, Sent: 64}); n != 36 || !last {
		t.Errorf("the rest of a Send: %d bytes, last %v", n, last)
	}
	if f.Ready() {
		t.Error("a side that does not know the Connection ID may send")
	}
}

// What a Send wishes for its Receive, by the bits and words of the profile.
func TestWishesOfASend(t *testing.T) {
	words := func(op, key uint32) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, op), key)
	}
	for _, tt := range []struct {
		what    string
		raw     bool
		res     uint8
		control []byte
		fails   bool
		want    stream.Delivery
	}{
		{what: "nothing"},
		{what: "solicited", res: resSolicited, want: stream.Delivery{Solicited: true}},
		{what: "words without their bit", control: words(1, 7)},
		{what: "invalidate", res: resControl, control: words(1, 7), want: stream.Delivery{Invalidate: true, Key: 7}},
		{what: "both", res: resControl | resSolicited, control: words(1, 7), want: stream.Delivery{Solicited: true, Invalidate: true, Key: 7}},
		{what: "another operation", res: resControl, control: words(2, 7), fails: true},
		{what: "half of the words", res: resControl, control: words(1, 7)[:4], fails: true},
		{what: "no profile", raw: true, res: resControl | resSolicited, control: words(1, 7)},
	} {
		f := &framer{res: tt.res}
		if f.controlLen = copy(f.control[:], tt.control); tt.raw {
			f.raw = &RawConfig{}
		}
		got, err := f.Deliver(nil)
		if (err != nil) != tt.fails || err == nil && got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.what, got, err, tt.want)
		}
	}
}
