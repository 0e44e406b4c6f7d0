package rdmaio_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	wire "github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
)

// socketPeer is a peer on a bare socket: no device, queue or credit of ours stands behind it. It knows the format of rdmatcp's segments
// and writes whatever it likes into them.
type socketPeer struct {
	t      testing.TB
	conn   net.Conn
	id     uint64
	number uint32
}

// hello is the first message of either side, by rdmatcp's profile: sizes, depths, private data.
func hello(private []byte) []byte {
	b := []byte{'r', 'p', 'd', '1', 1, 0, byte(len(private) >> 8), byte(len(private)), 1, 0, 0, 0, 0, 16, 0, 16}
	b = append(b, private...)
	return append(b, make([]byte, -len(private)&3)...)
}

// socketTo opens a socket, which ends with the test if not before.
func socketTo(t testing.TB, addr string) *socketPeer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &socketPeer{t: t, conn: conn, id: 0x0123456789abcdef, number: 7}
}

// connect says hello, and hears the answer.
func (p *socketPeer) connect(private []byte) {
	p.t.Helper()
	p.write(p.segment(wire.Header{Type: wire.Write}, hello(private), nil))
	if h, _, ok := p.read(); !ok || h.Type != wire.Write {
		p.t.Fatalf("the answer is %+v, want a hello", h)
	}
}

// accept is the other side of connect.
func (p *socketPeer) accept() bool {
	h, _, ok := p.read()
	if ok {
		p.id = h.ConnID
		ok = p.write(p.segment(wire.Header{Type: wire.Write}, hello(nil), nil))
	}
	return ok
}

// segment makes a message of one.
func (p *socketPeer) segment(h wire.Header, control, payload []byte) []byte {
	p.t.Helper()
	h.Begin, h.End, h.ConnID, h.Number = true, true, p.id, p.number
	p.number++
	b, err := wire.Append(nil, &h, control, payload)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// send makes messages to be written together.
func (p *socketPeer) send(n int, message func(i int) []byte) (b []byte) {
	for i := range n {
		b = append(b, p.segment(wire.Header{Type: wire.Send}, nil, message(i))...)
	}
	return b
}

// write writes, until the other side has had enough.
func (p *socketPeer) write(b []byte) bool {
	_ = p.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, err := p.conn.Write(b)
	return err == nil
}

// read reads a segment; false if none comes any more.
func (p *socketPeer) read() (h wire.Header, payload []byte, ok bool) {
	_ = p.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, wire.MaxWire)
	if _, err := io.ReadFull(p.conn, b[:4]); err != nil {
		return h, nil, false
	}
	size := (int(binary.BigEndian.Uint16(b[2:]))+3)&^3 + wire.TrailerSize
	if _, err := io.ReadFull(p.conn, b[4:size]); err != nil {
		return h, nil, false
	}
	_, payload, _, err := wire.Open(b[:size], &h)
	return h, payload, err == nil
}

// drain reads and forgets until the other side hangs up.
func (p *socketPeer) drain() {
	_ = p.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.Copy(io.Discard, p.conn)
}
