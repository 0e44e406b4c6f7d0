package rdmatcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const patience = 5 * time.Second

// peer is a scripted client on a plain socket.
type peer struct {
	t      testing.TB
	conn   net.Conn
	id     uint64
	number uint32
}

// victim is the side that a peer is connected to.
type victim struct {
	*side
	t testing.TB
}

// device opens a device, which is closed after all its objects.
func device(t testing.TB, cfg *rdmatcp.Config) *rdmatcp.Device {
	t.Helper()
	d := open(t, cfg)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func rawConfig() *rdmatcp.Config {
	return &rdmatcp.Config{Raw: &rdmatcp.RawConfig{}, ReceiveTimeout: 20 * time.Millisecond}
}

// attack connects a scripted peer to a device, without the profile or with its hello.
func attack(t testing.TB, dev *rdmatcp.Device, raw bool) (*peer, *victim) {
	t.Helper()
	return attackSide(t, newSide(t, dev), raw)
}

func attackSide(t testing.TB, s *side, raw bool) (*peer, *victim) {
	t.Helper()
	dev := s.dev
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &peer{t: t, conn: conn, id: 0x0123456789abcdef, number: 1<<32 - 2}
	v := &victim{s, t}
	if !raw {
		p.hello(hello(16, 16, nil))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := ln.Accept(ctx)
	if err == nil {
		_, err = req.Accept(ctx, v.qp, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !raw {
		if h, _, _ := p.get(); h.Type != segment.Write {
			t.Fatalf("answer is %+v, want a hello", h)
		}
	}
	return p, v
}

// hello returns the control data of the profile's first message.
func hello(resources, depth byte, private []byte) []byte {
	b := []byte{'r', 'p', 'd', '1', 1, 0, byte(len(private) >> 8), byte(len(private)), 1, 0, 0, 0, 0, resources, 0, depth}
	b = append(b, private...)
	return append(b, make([]byte, -len(private)&3)...)
}

func (p *peer) hello(control []byte) { p.put(segment.Header{Type: segment.Write}, control, nil) }

// next returns the number of the next message.
func (p *peer) next() uint32 {
	p.number++
	return p.number - 1
}

// whole returns a message of one segment.
func (p *peer) whole(h segment.Header, control, payload []byte) []byte {
	h.Begin, h.End, h.Number = true, true, p.next()
	if h.Type == segment.Write {
		h.RDMALength = uint32(len(payload))
	}
	return p.part(h, control, payload)
}

// part returns a segment, with the header's own B, E and number.
func (p *peer) part(h segment.Header, control, payload []byte) []byte {
	p.t.Helper()
	h.ConnID = p.id
	b, err := segment.Append(nil, &h, control, payload)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// put sends a message of one segment.
func (p *peer) put(h segment.Header, control, payload []byte) {
	p.t.Helper()
	p.write(p.whole(h, control, payload))
}

// write sends bytes. The victim may close the connection during the write.
func (p *peer) write(b []byte) {
	p.conn.SetWriteDeadline(time.Now().Add(patience))
	p.conn.Write(b)
}

// get reads a segment.
func (p *peer) get() (h segment.Header, control, payload []byte) {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	b := make([]byte, segment.MaxWire)
	if _, err := io.ReadFull(p.conn, b[:4]); err != nil {
		p.t.Fatalf("no segment: %v", err)
	}
	l := int(b[2])<<8 | int(b[3])
	wire := (l+3)&^3 + segment.TrailerSize
	if _, err := io.ReadFull(p.conn, b[4:wire]); err != nil {
		p.t.Fatalf("no whole segment: %v", err)
	}
	control, payload, _, err := segment.Open(b[:wire], &h)
	if err != nil {
		p.t.Fatal(err)
	}
	if h.ConnID != p.id {
		p.t.Fatalf("Connection ID %#x, want %#x", h.ConnID, p.id)
	}
	return h, control, payload
}

// ended checks that the stream is closed after left further bytes.
func (p *peer) ended() (rest []byte) {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	rest, err := io.ReadAll(p.conn)
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		p.t.Fatalf("the victim did not hang up: %v", err)
	}
	return rest
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// fails waits for the end of the connection and checks its reason.
func (v *victim) fails(wants ...error) {
	v.t.Helper()
	select {
	case <-v.lost:
	case <-time.After(patience):
		v.t.Fatal("the connection is still open")
	}
	for _, want := range wants {
		if err := v.qp.Err(); !errors.Is(err, want) {
			v.t.Errorf("error %v, want %v", err, want)
		}
	}
}

// next waits for a completion.
func (v *victim) next() verbs.WC {
	v.t.Helper()
	var wc [1]verbs.WC
	limit := time.After(patience)
	for {
		n, err := v.cq.Poll(wc[:])
		if err != nil {
			v.t.Fatal(err)
		}
		if n == 1 {
			return wc[0]
		}
		v.cq.Arm(false)
		if n, _ = v.cq.Poll(wc[:]); n == 1 {
			return wc[0]
		}
		select {
		case <-v.wake:
		case <-limit:
			v.t.Fatalf("no completion; %v", v.qp.Err())
		}
	}
}

// none checks that no request has completed.
func (v *victim) none() {
	v.t.Helper()
	var wc [1]verbs.WC
	if n, _ := v.cq.Poll(wc[:]); n > 0 {
		v.t.Errorf("unexpected completion %+v", wc[0])
	}
}

// poison fills the victim's memory, and poisoned reports whether it is unchanged. Neither works
// byte by byte: the race detector would check each access.
func (v *victim) poison() { copy(v.room, bytes.Repeat([]byte{0xa5}, sideBytes)) }

func (v *victim) poisoned() bool { return bytes.Count(v.room, []byte{0xa5}) == sideBytes }

// reseal corrects the CRC of a segment.
func reseal(b []byte) []byte {
	end := len(b) - segment.TrailerSize
	crc.Put(b[end:], crc.Checksum(b[:end]))
	return b
}
