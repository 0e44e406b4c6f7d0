package rdmatcp_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// script returns the bytes of a correct but unusual peer: two Sends with a Write between them, in
// segments of all kinds.
func script(p *peer, key uint32) []byte {
	p.number = 1<<32 - 1 // wraps
	var b []byte
	n := p.next()
	h := header(segment.Send, b_, n)
	h.Res = 0xa // bits of the client protocol
	b = append(b, p.part(h, []byte("ctrlctrl"), []byte("Hello"))...)
	h = header(segment.Send, 0, n)
	h.Offset = 5
	b = append(b, p.part(h, []byte("more"), nil)...)
	h = header(segment.Send, 0, n)
	h.Offset = 5
	b = append(b, p.part(h, nil, bytes.Repeat([]byte{'x'}, 5000))...)
	h = header(segment.Send, e_, n)
	h.Offset, h.Order = 5005, 0xfffe
	b = append(b, p.part(h, nil, nil)...)

	n = p.next()
	h = header(segment.Write, b_, n)
	h.BufferID, h.Offset, h.RDMALength, h.Order = key, 100_000, 6, 3
	b = append(b, p.part(h, make([]byte, segment.MaxControl), []byte("placed")[:2])...)
	h = header(segment.Write, e_, n)
	h.BufferID, h.Offset, h.RDMALength, h.Order = key, 100_002, 6, segment.NoOrder
	b = append(b, p.part(h, []byte("ctrl"), []byte("ced!"))...)

	// A Write of no bytes is not checked.
	b = append(b, p.whole(segment.Header{Type: segment.Write, BufferID: 0xdead, Offset: 1<<32 - 1}, nil, nil)...)
	last := p.whole(segment.Header{Order: 7}, nil, []byte("bye"))
	last[18] = 0xff // reserved, and covered by the CRC
	return append(b, reseal(last)...)
}

func checkScript(t *testing.T, v *victim) {
	t.Helper()
	first, second := v.next(), v.next()
	if first.Err() != nil || first.ByteLen != 5005 || second.Err() != nil || second.ByteLen != 3 {
		t.Fatalf("completions %+v, %+v: %v", first, second, v.qp.Err())
	}
	m := v.mr.Bytes()
	if want := append([]byte("Hello"), bytes.Repeat([]byte{'x'}, 5000)...); !bytes.Equal(m[:5005], want) || string(m[100_000:100_006]) != "plced!" {
		t.Error("bytes are not where they belong")
	}
	if string(m[10_000:10_003]) != "bye" {
		t.Errorf("second Send brought %q", m[10_000:10_003])
	}
	v.none()
}

// recvScript posts the Receives of the script.
func (v *victim) recvScript() {
	v.t.Helper()
	for i := range 2 {
		if _, err := v.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: v.mr, Offset: i * 10_000, Length: 3}, {MR: v.mr, Offset: i*10_000 + 3, Length: 6000}}}}); err != nil {
			v.t.Fatal(err)
		}
	}
}

// Correct segments are accepted, however TCP splits the stream (draft-williams-rdmatcp-00 §2; R333,
// R341, R345, R352, R353).
func TestCorrectSegmentsAreAccepted(t *testing.T) {
	dev := device(t, rawConfig())
	p, _ := attack(t, dev, true)
	whole := script(p, 0)
	cuts := map[string][]int{"one byte at a time": nil}
	for i := 1; i < len(whole); i++ {
		if i < 200 || i > len(whole)-150 || i%512 < 3 {
			cuts["in two"] = append(cuts["in two"], i)
		}
	}
	for name, at := range cuts {
		t.Run(name, func(t *testing.T) {
			if at == nil {
				p, v := attack(t, dev, true)
				v.recvScript()
				for _, b := range script(p, v.mr.RKey()) {
					p.write([]byte{b})
				}
				checkScript(t, v)
				return
			}
			for _, i := range at {
				p, v := attack(t, dev, true)
				v.recvScript()
				b := script(p, v.mr.RKey())
				p.write(b[:i])
				if i%8 == 0 {
					time.Sleep(100 * time.Microsecond) // probably read by now
				}
				p.write(b[i:])
				checkScript(t, v)
				p.conn.Close()
				v.qp.Close()
			}
		})
	}
}

// draft-williams-rdmatcp-00 §4: responses to our Reads come between the segments of the peer's
// Write (R346, R358). After the last response the stream may end.
func TestResponsesComeBetweenSegments(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	p.put(segment.Header{Type: segment.Write}, nil, nil)
	v.send(t, []verbs.SendWR{{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: v.mr, Offset: 10, Length: 4}, {MR: v.mr, Offset: 5000, Length: 6000}}}})
	ask, _, _ := p.get()
	n := p.next()
	wr := func(flags int, off uint32, payload []byte) {
		h := header(segment.Write, flags, n)
		h.BufferID, h.Offset, h.RDMALength = v.mr.RKey(), 100+off, 3
		p.write(p.part(h, nil, payload))
	}
	rd := func(flags int, off uint32, payload []byte) {
		h := header(segment.ReadResponse, flags, ask.Number)
		h.Offset, h.Order = off, uint16(off) // Order is ignored here
		p.write(p.part(h, []byte("ctrl"), payload))
	}
	answer := bytes.Repeat([]byte("0123456789"), 601)[:6004]
	wr(b_, 0, []byte("a"))
	rd(b_, 0, answer[:3])
	wr(0, 1, []byte("b"))
	rd(0, 3, answer[3:6000])
	v.none() // R6; and the Read is not complete
	rd(e_, 6000, answer[6000:])
	if wc := v.next(); wc.Err() != nil || wc.Opcode != verbs.WCRDMARead || wc.ByteLen != 6004 {
		t.Fatalf("completion %+v: %v", wc, v.qp.Err())
	}
	wr(e_, 2, []byte("c"))
	p.conn.(interface{ CloseWrite() error }).CloseWrite()
	v.fails(verbs.ErrPeerDisconnected)
	if m := v.mr.Bytes(); string(m[100:103]) != "abc" || !bytes.Equal(m[10:14], answer[:4]) || !bytes.Equal(m[5000:11000], answer[4:]) {
		t.Error("bytes are not where they belong")
	}
}

// A server without the profile does not know the Connection ID before the client has sent a
// segment, and sends nothing before (R344).
func TestServerWaitsForClient(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	v.send(t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled}})
	time.Sleep(20 * time.Millisecond)
	v.none()
	p.put(segment.Header{Type: segment.Write}, nil, nil)
	if h, _, _ := p.get(); h.Type != segment.Send || h.ConnID != p.id {
		t.Errorf("segment %+v", h)
	}
	if wc := v.next(); wc.Err() != nil {
		t.Errorf("completion %+v", wc)
	}
}

// draft-williams-rdmatcp-00 §3.4, Order: a Send that must not overtake a Read waits until the
// response was sent. One that may overtake it waits only for the Sends before (R348 to R350).
func TestSendWaitsForTheReadBefore(t *testing.T) {
	for _, tc := range []struct {
		name  string
		order uint16
		waits bool
	}{{"strict", 0, true}, {"all but one", 1, true}, {"all but 16", 16, false}, {"none", segment.NoOrder, false}} {
		t.Run(tc.name, func(t *testing.T) {
			p, v := attack(t, device(t, rawConfig()), true)
			v.recv(t, 8, 1)
			for range 16 { // more than the sockets buffer
				p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)
			}
			p.put(segment.Header{Order: tc.order}, nil, []byte("x"))
			if tc.waits {
				time.Sleep(50 * time.Millisecond)
				v.none()
				go io.Copy(io.Discard, p.conn)
			}
			if wc := v.next(); wc.Err() != nil || wc.ByteLen != 1 {
				t.Errorf("completion %+v: %v", wc, v.qp.Err())
			}
		})
	}
}

// §3.4 Order: so it is behind exactly one Read, whatever other Reads were served before it: the
// Send waits for this Read and completes after it (R348, R350).
func TestOrderBehindOneRead(t *testing.T) {
	const long = 24 << 20 // more than the sockets buffer
	for before := range 3 {
		p, v := attack(t, device(t, rawConfig()), true)
		source, err := v.pd.RegisterMemory(make([]byte, long), verbs.AccessRemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			v.qp.Close()
			source.Deregister()
		})
		v.recv(t, 8, 2)
		for range before { // these are served
			p.put(segment.Header{Type: segment.ReadRequest, BufferID: source.RKey(), RDMALength: 4}, nil, nil)
			p.get()
		}
		p.put(segment.Header{Type: segment.ReadRequest, BufferID: source.RKey(), RDMALength: long}, nil, nil)
		p.put(segment.Header{}, nil, []byte("x"))
		p.put(segment.Header{Order: segment.NoOrder}, nil, []byte("yz"))
		time.Sleep(50 * time.Millisecond)
		v.none()
		go io.Copy(io.Discard, p.conn)
		for n := range uint32(2) {
			if wc := v.next(); wc.Err() != nil || wc.ByteLen != n+1 {
				t.Fatalf("behind %d Reads that were served, completion %d: %+v: %v", before, n, wc, v.qp.Err())
			}
		}
	}
}

// A Write that must not overtake a Read and overlaps its source waits: the Read returns the old
// bytes (R348). A Write that does not overlap does not wait.
func TestWriteAfterRead(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	v.poison()
	v.recv(t, 8, 1)
	spare, err := v.pd.RegisterMemory(make([]byte, 8), v.mr.Access())
	if err != nil {
		t.Fatal(err)
	}
	defer spare.Deregister()
	for range 16 {
		p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)
	}
	p.put(segment.Header{Type: segment.Write, BufferID: spare.RKey()}, nil, []byte("no wait"))
	p.put(segment.Header{Order: segment.NoOrder}, nil, nil)
	if wc := v.next(); wc.Err() != nil || string(spare.Bytes()[:7]) != "no wait" {
		t.Fatalf("completion %+v: %v", wc, v.qp.Err())
	}
	p.put(segment.Header{Type: segment.Write, BufferID: v.mr.RKey(), Offset: sideBytes - 4}, nil, []byte("late"))
	time.Sleep(20 * time.Millisecond)
	for got := 0; got < 16*sideBytes; {
		_, _, payload := p.get()
		if bytes.ContainsFunc(payload, func(r rune) bool { return r < 0x80 }) {
			t.Fatal("the Write overtook the Read")
		}
		got += len(payload)
	}
	v.recv(t, 8, 1)
	p.put(segment.Header{}, nil, nil)
	if wc := v.next(); wc.Err() != nil || string(v.mr.Bytes()[sideBytes-4:]) != "late" {
		t.Errorf("completion %+v, memory %q", wc, v.mr.Bytes()[sideBytes-4:])
	}
}

// A peer that sends Reads and then closes its direction of the stream still gets the responses,
// which are more than the sockets buffer.
func TestAnswersAfterTheEnd(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	for range 16 {
		p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)
	}
	p.conn.(interface{ CloseWrite() error }).CloseWrite()
	time.Sleep(20 * time.Millisecond)
	for got := 0; got < 16*sideBytes; {
		_, _, payload := p.get()
		got += len(payload)
	}
	v.fails(verbs.ErrPeerDisconnected)
	if rest := p.ended(); len(rest) > 0 {
		t.Errorf("%d bytes too many", len(rest))
	}
}

// RawConfig.Control gets the control data of messages in both groups and with all types, for whole
// messages, and before each is delivered (R341, R351).
func TestControlData(t *testing.T) {
	cfg := rawConfig()
	shown := make(chan rdmatcp.ControlData, 10)
	cfg.Raw.MaxControl = 1100
	cfg.Raw.Control = func(c rdmatcp.ControlData) {
		c.Data = bytes.Clone(c.Data)
		shown <- c
	}
	p, v := attack(t, device(t, cfg), true)
	p.put(segment.Header{Type: segment.Write}, nil, nil) // it has no control data
	v.send(t, []verbs.SendWR{{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: v.sge(5000)}})
	ask, _, _ := p.get()
	v.recv(t, 8, 2)
	want := func(typ rdmatcp.MessageType, number uint32, res uint8, data string) {
		t.Helper()
		select {
		case got := <-shown:
			if got.QPNum != v.qp.Num() || got.Type != typ || got.Number != number || got.Res != res || string(got.Data) != data {
				t.Errorf("shown %+v, want %v %#x, bits %#x, %q", got, typ, number, res, data)
			}
		case <-time.After(patience):
			t.Fatalf("not shown: %v", v.qp.Err())
		}
	}
	part := func(h segment.Header, off uint32, control string, payload int) {
		h.Offset = off
		p.write(p.part(h, []byte(control), make([]byte, payload)))
	}
	n := p.next()
	h := header(segment.Send, b_, n)
	h.Res = 0x5
	part(h, 0, "one ", 1)
	part(header(segment.ReadResponse, b_, ask.Number), 0, "ans.", 4500)
	part(header(segment.Send, 0, n), 1, "and another ", 0)
	part(header(segment.ReadResponse, e_, ask.Number), 4500, "wer ", 500)
	want(rdmatcp.ReadResponseMessage, ask.Number, 0, "ans.wer ")
	if wc := v.next(); wc.Opcode != verbs.WCRDMARead || wc.Err() != nil {
		t.Errorf("completion %+v", wc)
	}
	part(header(segment.Send, e_, n), 1, "two.", 2)
	want(rdmatcp.SendMessage, n, 5, "one and another two.")
	p.put(segment.Header{Type: segment.Write, Res: 0xf}, nil, nil)
	want(rdmatcp.WriteMessage, n+1, 0xf, "")
	p.put(segment.Header{Type: segment.ReadRequest}, []byte("read"), nil)
	want(rdmatcp.ReadRequestMessage, n+2, 0, "read")
	n = p.next()
	part(header(segment.Send, b_, n), 0, string(make([]byte, 1020)), 0)
	part(header(segment.Send, 0, n), 0, string(make([]byte, 84)), 0)
	v.fails(verbs.ErrConnectionBroken)
	if err := v.qp.Err(); !strings.Contains(err.Error(), "want at most 1100 (RawConfig.MaxControl)") {
		t.Error(err)
	}
	if len(shown) > 0 {
		t.Errorf("shown too much: %+v", <-shown)
	}
}

// RawConfig.Attach adds bits and control data to a request, of any length: bits to all segments of
// the message, control data to the first (R341, R351).
func TestControlDataSent(t *testing.T) {
	cfg := rawConfig()
	long := bytes.Repeat([]byte("beside! "), segment.MaxControl/8)
	long = append(long, "last"...)
	cfg.Raw.Attach = func(_ uint32, wr verbs.SendWR) (uint8, []byte) {
		switch wr.WRID {
		case 0:
			return 0, nil
		case 1:
			return 5, []byte("ctrl")
		case 2:
			return 0xf, long
		case 3:
			return 16, nil
		case 4:
			return 0, []byte("odd")
		}
		return 0, append(long, "more"...)
	}
	p, v := attack(t, device(t, cfg), true)
	p.put(segment.Header{Type: segment.Write}, nil, nil)
	var wrs []verbs.SendWR
	for _, n := range []int{0, 100, rdmatcp.StageLimit, segment.Write.MaxPayload(), segment.Send.MaxPayload(), 200_000} {
		for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite, verbs.RDMARead} {
			for id := range uint64(3) {
				wr := verbs.SendWR{WRID: id, Opcode: op, SGL: v.sge(n), RKey: 7}
				if op == verbs.RDMARead { // the next request is posted before the Read completes
					wr.SGL[0].Offset = sideBytes / 2
				}
				wrs = append(wrs, wr)
			}
		}
	}
	for _, wr := range wrs {
		v.send(t, []verbs.SendWR{wr})
		res, want := cfg.Raw.Attach(0, wr)
		for got, first := 0, true; ; first = false {
			h, control, payload := p.get()
			if got += len(payload); h.Begin != first || h.Res != res || !bytes.Equal(control, want) {
				t.Fatalf("%v of %d bytes, request %d: bits %d and %d bytes of control data at byte %d, want %d and %d",
					wr.Opcode, wr.SGL[0].Length, wr.WRID, h.Res, len(control), got-len(payload), res, len(want))
			}
			if want = nil; !h.End {
				continue
			}
			if h.Type == segment.ReadRequest {
				p.number = h.Number
				for off, all := 0, wr.SGL[0].Length; ; off += 60_000 {
					part := header(segment.ReadResponse, 0, h.Number)
					part.Begin, part.End, part.Offset = off == 0, off+60_000 >= all, uint32(off)
					p.write(p.part(part, nil, make([]byte, min(60_000, all-off))))
					if part.End {
						break
					}
				}
			} else if got != wr.SGL[0].Length {
				t.Fatalf("%d bytes of payload, want %d", got, wr.SGL[0].Length)
			}
			break
		}
	}
	for size := range 60 { // some of them exactly fill the arena of a batch
		wrs = []verbs.SendWR{{Opcode: verbs.Send, SGL: v.sge(32 * size)}}
		for range 3 {
			wrs = append(wrs, verbs.SendWR{WRID: 2, Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: v.sge(rdmatcp.StageLimit)})
		}
		v.send(t, wrs)
		for i, wr := range wrs {
			if _, control, payload := p.get(); len(payload) != wr.SGL[0].Length || i > 0 && !bytes.Equal(control, long) {
				t.Fatalf("%d bytes with %d of control data, want %d", len(payload), len(control), wr.SGL[0].Length)
			}
		}
		for range 3 {
			if wc := v.next(); wc.Err() != nil {
				t.Fatalf("completion %+v: %v", wc, v.qp.Err())
			}
		}
	}
	for id := range uint64(3) {
		n, err := v.qp.PostSend([]verbs.SendWR{{WRID: 1}, {WRID: 3 + id}})
		if n != 1 || !errors.Is(err, verbs.ErrInvalidWR) || !strings.Contains(err.Error(), "RawConfig.Attach") {
			t.Errorf("request %d: %d posted, %v", 3+id, n, err)
		}
	}
}

// Corked requests are sent before the reader waits: here for a Receive that is posted after the
// response to the first Send was sent.
func TestReaderThatWaitsSendsFirst(t *testing.T) {
	cfg := rawConfig()
	cfg.ReceiveTimeout = patience
	for range 20 {
		p, v := attack(t, device(t, cfg), true)
		v.recv(t, 8, 1)
		p.write(append(p.whole(segment.Header{}, nil, []byte("one")), p.whole(segment.Header{}, nil, []byte("two"))...))
		if wc := v.next(); wc.Err() != nil {
			t.Fatalf("completion %+v: %v", wc, v.qp.Err())
		}
		v.send(t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled}})
		if wc := v.next(); wc.Err() != nil || wc.Opcode != verbs.WCSend {
			t.Fatalf("completion %+v: %v", wc, v.qp.Err())
		}
		v.recv(t, 8, 1)
		if wc := v.next(); wc.Err() != nil {
			t.Fatalf("completion %+v: %v", wc, v.qp.Err())
		}
		if h, _, _ := p.get(); h.Type != segment.Send {
			t.Fatalf("answer %+v", h)
		}
	}
}
