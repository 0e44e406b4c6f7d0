package rdmatcp_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// steps returns what a fuzzed peer sends. A step is a segment with a correct CRC, which a fuzzer
// would not find, or any bytes:
//
//	flags, sizes of control data and payload, number, offset, buffer, length
//
// Bits 0 to 2 of flags are the type, 3 begins a message, 4 completes it, 5 takes the next number, 6
// names the victim's region, and 7 makes the step so many bytes as the next byte says.
func (p *peer) steps(key uint32, b []byte) (out []byte) {
	next := func() (c byte) {
		if len(b) > 0 {
			c, b = b[0], b[1:]
		}
		return c
	}
	for len(b) > 0 && len(out) < 1<<16 {
		flags := next()
		if flags&0x80 != 0 {
			n := min(int(next()), len(b))
			out, b = append(out, b[:n]...), b[n:]
			continue
		}
		h := segment.Header{Type: segment.Type(flags & 7), Begin: flags&8 != 0, End: flags&16 != 0, Order: segment.NoOrder}
		control, payload := int(next()), int(next())
		h.Number = p.number + uint32(int8(next()))
		if flags&32 != 0 {
			h.Number = p.next()
		}
		h.Offset, h.BufferID, h.RDMALength = uint32(int32(int8(next()))), uint32(next()), uint32(next())
		if flags&64 != 0 {
			h.BufferID = key
		}
		h.ConnID = p.id
		b = append(b[:len(b):len(b)], make([]byte, max(0, control&15*4+payload-len(b)))...)
		made, err := segment.Append(nil, &h, b[:control&15*4], b[control&15*4:control&15*4+payload])
		b = b[control&15*4+payload:]
		if err == nil {
			out = append(out, made...)
		}
	}
	return out
}

// seedSteps are steps of a correct peer: Sends with one segment and with three, a Write, a
// ReadRequest, a ReadResponse, and bytes.
var seedSteps = [][]byte{
	{0x38 | byte(segment.Send), 0, 4, 0, 0, 0, 0, 'd', 'a', 't', 'a', 0x38 | byte(segment.Send), 1, 0, 0, 0, 0, 0, 1, 2, 3, 4},
	{0x28 | byte(segment.Send), 0, 4, 0, 0, 0, 0, 'd', 'a', 't', 'a', byte(segment.Send), 0, 2, 0xff, 4, 0, 0, 'x', 'y', 0x10 | byte(segment.Send), 0, 0, 0xff, 6, 0, 0},
	{0x78 | byte(segment.Write), 0, 4, 0, 9, 0, 4, 'd', 'a', 't', 'a'}, {0x78 | byte(segment.ReadRequest), 0, 0, 0, 9, 0, 50},
	{0x38 | byte(segment.ReadResponse), 0, 100, 0, 0, 0, 0}, {0x38 | byte(segment.ReadResponse), 0, 101, 0, 0, 0, 0},
	{0x80, 3, 1, 2, 3}, {0x38, 0, 4, 0, 0, 0, 0, 'd', 'a', 't', 'a', 0x80, 40}, {0x08, 255, 255, 5, 5, 5, 5},
}

// small returns a victim with the memory and the queues that a fuzzed peer needs: it is made for
// each execution.
func small(t testing.TB, dev *rdmatcp.Device) *victim {
	t.Helper()
	s := &side{dev: dev}
	var err error
	must := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.pd, err = dev.AllocPD()
	must()
	s.cq, err = dev.CreateCQ(16, nil)
	must()
	lost, lostC := verbs.NotifyChannel()
	s.lost = lostC
	s.qp, err = s.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, MaxSendWR: 4, MaxRecvWR: 4, Notify: lost})
	must()
	s.mr, err = s.pd.RegisterMemory(make([]byte, 300), verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite|verbs.AccessRemoteInvalidate)
	must()
	t.Cleanup(func() {
		for _, f := range []func() error{s.qp.Close, s.mr.Deregister, s.cq.Close, s.pd.Close} {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	})
	return &victim{s, t}
}

// ended checks that the connection of a fuzzed peer ends with a reason.
func (v *victim) ended() {
	v.fails()
	if v.qp.Err() == nil {
		v.t.Error("no reason")
	}
}

// FuzzPeer is a hostile client: it sends a hello, or any control data in its place, and then any
// segments and bytes. The connection ends in bounded time and memory, without a panic, and with an
// error that has the reason.
//
//fuzz:floor 250 each execution makes a connection, with its goroutines
func FuzzPeer(f *testing.F) {
	seed := &peer{t: f, id: 1}
	f.Add(append([]byte{0x80, 255}, script(seed, 1)[:255]...), []byte(nil), true)
	for _, s := range seedSteps {
		f.Add(s, hello(16, 16, nil), false)
		f.Add(s, []byte(nil), true)
	}
	f.Add([]byte(nil), hello(1, 1, []byte("x")), false)
	f.Add([]byte(nil), hello(0, 0, make([]byte, 300)), false)
	f.Add([]byte(nil), hello(1, 1, nil)[:12], false)
	cfg := rawConfig()
	cfg.ReceiveTimeout = -1
	cfg.Raw.Control = func(rdmatcp.ControlData) {}
	dev := device(f, cfg)
	profiled := device(f, &rdmatcp.Config{ReceiveTimeout: -1})
	f.Fuzz(func(t *testing.T, b, control []byte, raw bool) {
		d := profiled
		if raw {
			d = dev
		}
		v := small(t, d)
		v.recv(t, 300, 2)
		p := &peer{t: t, id: 0x0123456789abcdef, number: 1<<32 - 2}
		var all []byte
		if len(control)&3 == 0 && len(control) <= segment.MaxControl && !raw {
			all = p.whole(segment.Header{Type: segment.Write}, control, nil)
		}
		all = append(all, p.steps(v.mr.RKey(), b)...)
		here, there := net.Pipe()
		go func() {
			there.SetDeadline(time.Now().Add(patience))
			go io.Copy(io.Discard, there)
			there.Write(all)
			there.Close()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		req, err := d.AcceptConn(ctx, here)
		if err != nil {
			return
		}
		if _, err := req.Accept(ctx, v.qp, nil); err != nil {
			return
		}
		v.ended()
	})
}

// FuzzDial is a hostile server: it answers the hello of a client with any control data, and then
// sends any segments and bytes, while an RDMA Read and a Receive wait. The connection closes as in
// FuzzPeer, and no memory changes that is not for the Read, the Receive, or open to the peer.
//
//fuzz:floor 250 each execution makes a connection, with its goroutines
func FuzzDial(f *testing.F) {
	for _, s := range seedSteps {
		f.Add(s, hello(16, 16, nil))
	}
	f.Add([]byte(nil), hello(1, 1, []byte("private"))[:20])
	// As a listener that is closed, and as Reject.
	refused, rejected := hello(1, 1, nil), hello(1, 1, []byte("no"))
	refused[5], rejected[5] = 2, 1
	f.Add([]byte(nil), refused)
	f.Add([]byte(nil), rejected)
	f.Add([]byte(nil), []byte("rpd2rpd2"))
	f.Add([]byte(nil), []byte(nil))
	dev := device(f, &rdmatcp.Config{ReceiveTimeout: -1})
	const read = 100 // bytes
	f.Fuzz(func(t *testing.T, b, control []byte) {
		v := small(t, dev)
		own := bytes.Repeat([]byte{0xa5}, 4*read)
		mr, err := v.pd.RegisterMemory(own, verbs.AccessLocalWrite)
		if err != nil {
			t.Fatal(err)
		}
		defer mr.Deregister()
		if _, err := v.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: mr, Offset: read, Length: read}}}}); err != nil {
			t.Fatal(err)
		}
		here, there := net.Pipe()
		wrote := make(chan bool)
		go func() {
			defer close(wrote)
			defer there.Close()
			p := &peer{t: t, conn: there, number: 1<<32 - 2}
			there.SetDeadline(time.Now().Add(patience))
			first := make([]byte, segment.MaxWire)
			n, err := io.ReadAtLeast(there, first, 24)
			var h segment.Header
			if _, _, _, bad := segment.Open(first[:n], &h); err != nil || bad != nil {
				t.Errorf("the hello of the client is %x: %v, %v", first[:n], err, bad)
				return
			}
			p.id = h.ConnID // of the client's choice
			go io.Copy(io.Discard, there)
			var all []byte
			if len(control)&3 == 0 && len(control) <= segment.MaxControl {
				all = p.whole(segment.Header{Type: segment.Write}, control, nil)
			}
			there.Write(append(all, p.steps(v.mr.RKey(), b)...))
		}()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := dev.DialConn(ctx, here, v.qp, nil); err == nil {
			// It fails if the connection is closed already.
			_, _ = v.qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMARead, SGL: []verbs.SGE{{MR: mr, Offset: 2 * read, Length: read}}, RKey: 1}})
			v.ended()
		}
		<-wrote
		v.qp.Close()
		if bytes.Count(own[:read], []byte{0xa5})+bytes.Count(own[3*read:], []byte{0xa5}) != 2*read {
			t.Errorf("memory outside the Receive and the Read was written: %x", own)
		}
	})
}
