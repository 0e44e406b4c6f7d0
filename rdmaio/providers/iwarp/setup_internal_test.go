package iwarp

import (
	"bytes"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Every field of Config that package stream has, too, reaches it.
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
	c.Rand = bytes.NewReader(nil)
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
	if got.Attrs.Name != "a" || !got.Addresses || got.NoReports != "" || got.Attach != nil || got.ALPN != "iwarp" || got.Provider != "iwarp" {
		t.Errorf("%+v", got)
	}
	want := stream.Shape{Prefix: 4, Header: 20, MaxHead: 20 + rdmap.MaxTerminate, StageSend: soft.InlineSize, StageReceive: soft.InlineSize, Whole: true, SumFirst: true}
	if got.Shape != want {
		t.Errorf("sizes %+v, want %+v", got.Shape, want)
	}
}

// The defaults of fields that concern iWARP alone, and the largest and smallest values.
func TestConfigDefaults(t *testing.T) {
	c, err := Config{}.fill()
	if err != nil || c.Name != "iwarp0" || c.Revision != 2 || c.RTR != RTRSend|RTRWrite|RTRRead || c.FirstDelay != 5*time.Millisecond || c.MULPDU != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	set := Config{Name: "n", Revision: 1, RTR: RTRRead, FirstDelay: time.Second, MULPDU: 128}
	if c, err := set.fill(); err != nil || !reflect.DeepEqual(c, set) {
		t.Errorf("%+v, want %+v; %v", c, set, err)
	}
	if _, err := (Config{PeerToPeer: true, MULPDU: 64768, RTR: 7}).fill(); err != nil {
		t.Error(err)
	}
	a, err := c.attributes()
	if err != nil || a.Name != "iwarp0" || a.MaxMRSize != 1<<40 || a.MaxInitiatorDepth != 16 || a.MaxResponderResources != 16 || a.MaxPrivateData != 508 ||
		a.Addresses != verbs.AddressIP || !a.HeapMemory || !a.RemoteInvalidate || !a.LendReceives {
		t.Errorf("%+v, %v", a, err)
	}
	c.Limits = &verbs.DeviceAttributes{MaxInitiatorDepth: 16382, MaxResponderResources: 3}
	if a, err := c.attributes(); err != nil || a.MaxInitiatorDepth != 16382 || a.MaxResponderResources != 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

// Each ready-to-receive indication becomes the one of package mpa with the same name.
func TestIndicationsHaveTheNamesOfMPA(t *testing.T) {
	for r, want := range map[RTR]mpa.RTR{
		0: 0, RTRSend: mpa.RTRSend, RTRWrite: mpa.RTRWrite, RTRRead: mpa.RTRRead, RTRSend | RTRRead: mpa.RTRSend | mpa.RTRRead,
		allRTR: mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead,
	} {
		if got := r.mpa(); got != want {
			t.Errorf("%b: %b, want %b", r, got, want)
		}
	}
}

// What this side wants of a connection, and what it gets: the depths are not changed for one
// another, and CRCs are on if they were negotiated.
func TestOfferAndSession(t *testing.T) {
	p := &verbs.ConnParams{PrivateData: []byte("p"), InitiatorDepth: 3, ResponderResources: 5}
	for _, no := range []bool{false, true} {
		s := &framing{&Config{Revision: 1, NoCRC: no}}
		want := mpa.Offer{Revision: 1, CRC: !no, Private: []byte("p"), ORD: 3, IRD: 5}
		if got := s.offer(p); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		f := &framer{terms: mpa.Terms{ORD: 7, IRD: 9, CRC: !no}}
		got := f.session([]byte("x"))
		if got.Framer != stream.Framer(f) || string(got.PrivateData) != "x" || got.MaxSend != math.MaxUint32 || got.InitiatorDepth != 7 || got.ResponderResources != 9 {
			t.Errorf("%+v", got)
		}
		if (got.Sum == nil) != no {
			t.Errorf("no CRC %v: a sum is there: %v", no, got.Sum != nil)
		}
	}
}

// whole checks an FPDU and returns its DDP header and the rest of its ULPDU.
func whole(t *testing.T, b []byte, crc bool) (h ddp.Header, rest []byte) {
	t.Helper()
	ulpdu, n, err := mpa.OpenFPDU(b, crc)
	if err != nil || n != len(b) {
		t.Fatalf("% x: %d bytes, %v", b, n, err)
	}
	if field := b[len(b)-mpa.CRCSize:]; !crc && !bytes.Equal(field, make([]byte, mpa.CRCSize)) {
		t.Errorf("without CRCs the field is % x", field)
	}
	if err := h.Decode(ulpdu); err != nil {
		t.Fatal(err)
	}
	return h, ulpdu[h.Size():]
}

// RFC 6581 §9.2: the negotiated indication, and the wake-up: each is one whole FPDU without a
// payload. The numbers of its queue go on after it. Before the response to a Read nothing is sent.
func TestIndicationsSent(t *testing.T) {
	for _, without := range []Workaround{0, NonZeroSTag} {
		for _, crc := range []bool{false, true} {
			stag := uint32(1)
			if without != 0 {
				stag = 0
			}
			f := &framer{terms: mpa.Terms{RTR: mpa.RTRSend, CRC: crc}, without: without, ready: true}
			if h, rest := whole(t, f.rtr(), crc); h.Tagged || !h.Last || rdmap.OpcodeOf(h.ULP) != rdmap.Send || h.MSN != 1 || h.QN != rdmap.QueueSend || len(rest) > 0 {
				t.Errorf("Send: %+v with %d bytes", h, len(rest))
			}
			if f.sends.Next() != 2 || f.reads.Next() != 1 || !f.ready {
				t.Error("a Send is not counted, or stops others")
			}
			f = &framer{terms: mpa.Terms{RTR: mpa.RTRWrite, CRC: crc}, without: without, ready: true}
			for _, b := range [][]byte{f.rtr(), f.emptyWrite(nil), f.emptyWrite([]byte("before"))[len("before"):]} {
				if h, rest := whole(t, b, crc); !h.Tagged || !h.Last || rdmap.OpcodeOf(h.ULP) != rdmap.Write || h.STag != stag || h.TO != 0 || len(rest) > 0 {
					t.Errorf("Write: %+v with %d bytes", h, len(rest))
				}
			}
			if f.sends.Next() != 1 || f.reads.Next() != 1 || !f.ready {
				t.Error("a Write is counted, or stops others")
			}
			f = &framer{terms: mpa.Terms{RTR: mpa.RTRRead, CRC: crc}, without: without, ready: true}
			h, rest := whole(t, f.rtr(), crc)
			var r rdmap.ReadRequest
			if err := r.Decode(rest); err != nil || h.Tagged || !h.Last || h.QN != rdmap.QueueRead || h.MSN != 1 || (r != rdmap.ReadRequest{SinkSTag: stag, SourceSTag: stag}) {
				t.Errorf("Read: %+v with %+v, %v", h, r, err)
			}
			if f.ready || !f.rtrRead || f.reads.Next() != 2 || f.sends.Next() != 1 {
				t.Error("something may be sent before the response")
			}
		}
	}
}

// A Write or Read of no bytes has STag 1 in place of 0, which is not checked (NonZeroSTag). Others
// have the STag of their request.
func TestSTagOfNoBytes(t *testing.T) {
	for _, tt := range []struct {
		without   Workaround
		key       uint32
		n         int
		want      uint32
		sinkSTags uint32
	}{{0, 0, 0, 1, 1}, {0, 7, 0, 7, 1}, {NonZeroSTag, 0, 0, 0, 0}, {0, 0, 8, 0, 99}, {NonZeroSTag, 7, 8, 7, 99}} {
		f := &framer{without: tt.without, sink: 99, mulpdu: 1000}
		r := &stream.Request{Request: soft.Request{Opcode: verbs.RDMAWrite, RKey: tt.key, Addr: 1 << 40, Total: tt.n}}
		var h ddp.Header
		if err := h.Decode(f.PutRequest(nil, r, tt.n, true)[mpa.LengthSize:]); err != nil || h.STag != tt.want || h.TO != 1<<40 {
			t.Errorf("a Write of %d bytes to key %d: STag %d, want %d; %v", tt.n, tt.key, h.STag, tt.want, err)
		}
		r.Opcode, r.Number = verbs.RDMARead, 5
		r.SGL = soft.List{{Off: 24}, {Off: 1}}
		b := f.PutRequest(nil, r, 0, true)
		var body rdmap.ReadRequest
		if err := h.Decode(b[mpa.LengthSize:]); err != nil || h.MSN != 5 || h.QN != rdmap.QueueRead {
			t.Errorf("%+v, %v", h, err)
		}
		if err := body.Decode(b[untaggedSize:]); err != nil {
			t.Fatal(err)
		}
		want := rdmap.ReadRequest{SinkSTag: tt.sinkSTags, SinkTO: 24, Size: uint32(tt.n), SourceSTag: tt.want, SourceTO: 1 << 40}
		if body != want {
			t.Errorf("a Read of %d bytes from key %d: %+v, want %+v", tt.n, tt.key, body, want)
		}
	}
	f := &framer{sink: 99}
	if got := f.sinkAt(&stream.Request{Request: soft.Request{Total: 8}}); got != (rdmap.Sink{STag: 99, Size: 8}) {
		t.Errorf("a Read without memory has the sink %+v", got)
	}
}

// Segments have the opcode of their request, the offset of their payload, and the last one says so.
func TestSegmentsOfRequests(t *testing.T) {
	f := &framer{mulpdu: 1000}
	for _, tt := range []struct {
		op    verbs.Opcode
		flags verbs.SendFlags
		want  rdmap.Opcode
		ulp2  uint32
	}{
		{verbs.Send, 0, rdmap.Send, 0},
		{verbs.Send, verbs.SendSolicited, rdmap.SendSE, 0},
		{verbs.SendWithInvalidate, 0, rdmap.SendInvalidate, 77},
		{verbs.SendWithInvalidate, verbs.SendSolicited, rdmap.SendSEInvalidate, 77},
	} {
		for _, last := range []bool{false, true} {
			r := &stream.Request{Request: soft.Request{Opcode: tt.op, Flags: tt.flags, Invalidate: 77, Total: 100}, Number: 4, Sent: 40}
			var h ddp.Header
			b := f.PutRequest(nil, r, 20, last)
			if err := h.Decode(b[mpa.LengthSize:]); err != nil || rdmap.OpcodeOf(h.ULP) != tt.want || h.ULP2 != tt.ulp2 || h.MSN != 4 || h.MO != 40 || h.Last != last || h.QN != rdmap.QueueSend {
				t.Errorf("%v, %v: %+v, %v", tt.op, tt.flags, h, err)
			}
			if n, err := mpa.Length(b); err != nil || n != ddp.UntaggedSize+20 {
				t.Errorf("%v: a ULPDU of %d bytes, %v", tt.op, n, err)
			}
		}
	}
	r := &stream.Response{Sink: 8, SinkAddr: 1000, Total: 100, Sent: 40}
	var h ddp.Header
	if err := h.Decode(f.PutResponse(nil, r, 20, false)[mpa.LengthSize:]); err != nil || !h.Tagged || h.STag != 8 || h.TO != 1040 || h.Last || rdmap.OpcodeOf(h.ULP) != rdmap.ReadResponse {
		t.Errorf("a Read Response: %+v, %v", h, err)
	}
}

// FPDUs are as long as MULPDU allows, in steps of 4 payload bytes.
func TestLengthOfSegments(t *testing.T) {
	for mulpdu := 128; mulpdu < 136; mulpdu++ {
		f := &framer{mulpdu: mulpdu}
		send := &stream.Request{Request: soft.Request{Opcode: verbs.Send, Total: 500}}
		write := &stream.Request{Request: soft.Request{Opcode: verbs.RDMAWrite, Total: 500}}
		read := &stream.Request{Request: soft.Request{Opcode: verbs.RDMARead, Total: 500}}
		response := &stream.Response{Total: 500}
		s, _ := f.Next(send)
		w, _ := f.Next(write)
		r, _ := f.NextResponse(response)
		n, last := f.Next(read)
		if s != (mulpdu-18)/4*4 || w != (mulpdu-14)/4*4 || r != w || n != 0 || !last {
			t.Errorf("MULPDU %d: %d, %d and %d bytes; a Read has %d, last %v", mulpdu, s, w, r, n, last)
		}
		response.Sent = 500 - r
		if n, last := f.NextResponse(response); n != r || !last {
			t.Errorf("MULPDU %d: the last has %d bytes, last %v", mulpdu, n, last)
		}
	}
}

// A Terminate of Linux, in which layer and error type have changed places, is read as it was meant.
// Without the workaround it is read literally.
func TestSwappedTerminateIsRead(t *testing.T) {
	meant := rdmap.Cause{Layer: rdmap.LayerDDP, Type: ddp.TypeUntagged, Code: 2}
	swapped := rdmap.Cause{Layer: meant.Type, Type: meant.Layer, Code: meant.Code}
	for _, tt := range []struct {
		without    Workaround
		linux      bool
		sent, want rdmap.Cause
	}{
		{0, true, swapped, meant}, {SwappedTerminate, true, swapped, swapped},
		{0, false, meant, meant}, {SwappedTerminate, false, meant, meant},
		{WakeUp | NonZeroSTag, true, swapped, meant},
	} {
		f := &framer{without: tt.without}
		f.report = rdmap.Terminate{Cause: tt.sent, Swapped: rdmap.Cause{Layer: tt.sent.Type, Type: tt.sent.Layer, Code: tt.sent.Code}, HeaderSwapped: tt.linux}
		p, err := f.Ended(nil)
		if err != nil || p.What != tt.want.String() || p.Status != status(tt.want, &f.report) || p.Goodbye {
			t.Errorf("without %b, %v: %q, %v, want %q", tt.without, tt.sent, p.What, p.Status, tt.want.String())
		}
	}
}

// The peer's Terminate is described with the header that it has.
func TestWhereOfATerminate(t *testing.T) {
	for _, tt := range []struct {
		report rdmap.Terminate
		want   string
	}{
		{rdmap.Terminate{}, "Terminate control 00 00 00 00"},
		{rdmap.Terminate{HasDDP: true, DDP: ddp.Header{Tagged: true, STag: 0x12, TO: 0x34}}, "Terminate control 00 00 00 00, STag 0x00000012, offset 0x34"},
		{rdmap.Terminate{HasDDP: true, DDP: ddp.Header{QN: 1, MSN: 6}}, "Terminate control 00 00 00 00, queue 1, message 6"},
	} {
		p, err := (&framer{report: tt.report}).Ended(nil)
		if err != nil || p.Where != tt.want {
			t.Errorf("%q, want %q; %v", p.Where, tt.want, err)
		}
	}
}

// Our Terminate describes the segment that caused it by header and length, and a Read Request by
// its body as well. Causes that Figure 10 of RFC 5040 does not list describe no segment.
func TestDescribedSegment(t *testing.T) {
	head := ddp.Header{QN: rdmap.QueueRead, MSN: 3, Last: true}
	read := rdmap.ReadRequest{SinkSTag: 1, SinkTO: 2, Size: 3, SourceSTag: 4, SourceTO: 5}
	f := &framer{op: rdmap.ReadRequestOp, head: head, length: 46, read: read}
	b := f.LastBytes([]byte("rest"), &stream.Report{Reason: stream.ReasonAccess, Denial: soft.NoRegion, AtHand: true}, stream.SentPart)
	if !bytes.HasPrefix(b, []byte("rest")) {
		t.Fatalf("%q", b)
	}
	h, body := whole(t, b[4:], false)
	var got rdmap.Terminate
	if err := got.Decode(body); err != nil || h.QN != rdmap.QueueTerminate || h.MSN != 1 || !h.Last || rdmap.OpcodeOf(h.ULP) != rdmap.TerminateOp {
		t.Errorf("%+v, %v", h, err)
	}
	if !got.HasDDP || got.DDP != head || got.Length != 46 || !got.HasRead || got.Read != read {
		t.Errorf("%+v", got)
	}
	if b := f.LastBytes([]byte("rest"), &stream.Report{Reason: stream.ReasonGoodbye}, stream.NotBegun); string(b) != "rest" {
		t.Errorf("a goodbye: %q", b)
	}
}

// RFC 5044 §7.1.2, RFC 6581 §9: a responder may send after the first FPDU. An end that asked for an
// indication takes it without a Receive. A first Send that is not an indication needs a Receive.
func TestFirstFPDUOfAnInitiator(t *testing.T) {
	responder := func(rtr mpa.RTR) mpa.Responder {
		var r mpa.Responder
		request := mpa.Frame{Kind: mpa.Request, Revision: 2, Enhanced: true, Setup: mpa.Setup{IRD: 4, ORD: 4, PeerToPeer: rtr != 0, RTR: rtr}}
		if err := r.Receive(&request); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Accept(nil, mpa.Offer{Revision: 2, IRD: 4, ORD: 4, RTR: rtr}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct {
		what  string
		rtr   mpa.RTR
		op    rdmap.Opcode
		n     int
		last  bool
		fails bool
		kind  stream.Kind
	}{
		{"a Send of no bytes as indication", mpa.RTRSend, rdmap.Send, 0, true, false, stream.KindNone},
		{"a Write of no bytes as indication", mpa.RTRWrite, rdmap.Write, 0, true, false, stream.KindWrite},
		{"a Send of a byte", mpa.RTRSend, rdmap.Send, 1, true, true, 0},
		{"a Write of a byte", mpa.RTRWrite, rdmap.Write, 1, true, true, 0},
		{"a Send of no bytes that is continued", mpa.RTRSend, rdmap.Send, 0, false, true, 0},
		{"a Send without a peer-to-peer model", 0, rdmap.Send, 1, true, false, stream.KindSend},
		{"a Send of no bytes without it", 0, rdmap.Send, 0, true, false, stream.KindSend},
		{"a solicited Send", mpa.RTRSend, rdmap.SendSE, 0, true, true, 0},
	} {
		f := &framer{responder: responder(tt.rtr)}
		kind := stream.KindSend
		if tt.op == rdmap.Write {
			kind = stream.KindWrite
		}
		fr := &stream.Frame{Kind: kind, End: tt.last}
		err := f.acceptFirst(fr, tt.op, tt.n)
		if (err != nil) != tt.fails || f.Ready() == tt.fails || err == nil && fr.Kind != tt.kind {
			t.Errorf("%s: %v, ready %v, kind %d, want %d", tt.what, err, f.Ready(), fr.Kind, tt.kind)
		}
	}
	for _, size := range []uint32{0, 1} {
		f := &framer{responder: responder(mpa.RTRRead), read: rdmap.ReadRequest{Size: size}}
		if err := f.acceptFirst(&stream.Frame{Kind: stream.KindReadRequest, End: true}, rdmap.ReadRequestOp, rdmap.ReadRequestSize); (err != nil) != (size > 0) || f.Ready() != (size == 0) {
			t.Errorf("a Read of %d bytes as indication: %v, ready %v", size, err, f.Ready())
		}
	}
}
