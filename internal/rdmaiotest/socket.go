package rdmaiotest

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	wire "github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// SocketPeer is a peer on a bare socket, without a device, queues or credits. It knows the format
// of rdmatcp's segments and can write anything in them.
type SocketPeer struct {
	Conn net.Conn
	ID   uint64 // the connection's, in each segment

	t      testing.TB
	number uint32 // of the next message
}

// Hello returns the first message of either side in rdmatcp's profile: sizes, depths, private data.
func Hello(private []byte) []byte {
	b := []byte{'r', 'p', 'd', '1', 1, 0, byte(len(private) >> 8), byte(len(private)), 1, 0, 0, 0, 0, 16, 0, 16}
	b = append(b, private...)
	return append(b, make([]byte, -len(private)&3)...)
}

// DialSocket opens a socket. It is closed at the end of the test, if not before.
func DialSocket(t testing.TB, addr string) *SocketPeer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &SocketPeer{t: t, Conn: conn, ID: 0x0123456789abcdef, number: 7}
}

// NewSocket makes a peer of a connection that was accepted. The caller closes it.
func NewSocket(t testing.TB, conn net.Conn) *SocketPeer { return &SocketPeer{t: t, Conn: conn} }

// Connect sends Hello and reads the answer.
func (p *SocketPeer) Connect(private []byte) {
	p.t.Helper()
	p.Write(p.Segment(wire.Header{Type: wire.Write}, Hello(private), nil))
	if h, _, ok := p.Read(); !ok || h.Type != wire.Write {
		p.t.Fatalf("the answer is %+v, want a hello", h)
	}
}

// Accept reads the other side's Hello and answers it.
func (p *SocketPeer) Accept() bool {
	h, _, ok := p.Read()
	if ok {
		p.ID = h.ConnID
		ok = p.Write(p.Segment(wire.Header{Type: wire.Write}, Hello(nil), nil))
	}
	return ok
}

// Segment returns a message of one segment.
func (p *SocketPeer) Segment(h wire.Header, control, payload []byte) []byte {
	p.t.Helper()
	h.Begin, h.End, h.ConnID, h.Number = true, true, p.ID, p.number
	p.number++
	b, err := wire.Append(nil, &h, control, payload)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// Sends returns n Sends, to be written together.
func (p *SocketPeer) Sends(n int, message func(i int) []byte) (b []byte) {
	for i := range n {
		b = append(b, p.Segment(wire.Header{Type: wire.Send}, nil, message(i))...)
	}
	return b
}

// Write writes. It reports false if the other side does not take all of it within five seconds.
func (p *SocketPeer) Write(b []byte) bool {
	_ = p.Conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, err := p.Conn.Write(b)
	return err == nil
}

// Read reads a segment. It reports false if none comes within five seconds.
func (p *SocketPeer) Read() (h wire.Header, payload []byte, ok bool) {
	_ = p.Conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, wire.MaxWire)
	if _, err := io.ReadFull(p.Conn, b[:4]); err != nil {
		return h, nil, false
	}
	size := (int(binary.BigEndian.Uint16(b[2:]))+3)&^3 + wire.TrailerSize
	if _, err := io.ReadFull(p.Conn, b[4:size]); err != nil {
		return h, nil, false
	}
	_, payload, _, err := wire.Open(b[:size], &h)
	return h, payload, err == nil
}

// ReadMessage reads up to the next message. The test fails if none comes.
func (p *SocketPeer) ReadMessage() peertest.Raw {
	p.t.Helper()
	for {
		h, b, ok := p.Read()
		if !ok {
			p.t.Fatal("no message")
		}
		if h.Type == wire.Send && len(b) > 0 {
			return b
		}
	}
}

// ReadRequest reads up to the next RDMA Read and returns its header.
func (p *SocketPeer) ReadRequest() (h wire.Header, ok bool) {
	for {
		if h, _, ok = p.Read(); !ok || h.Type == wire.ReadRequest {
			return h, ok
		}
	}
}

// ServeRead answers an RDMA Read with zeros.
func (p *SocketPeer) ServeRead(h wire.Header) {
	p.t.Helper()
	left := int(h.RDMALength)
	for at := 0; left > 0; {
		n := min(left, wire.ReadResponse.MaxPayload())
		b, err := wire.Append(nil, &wire.Header{
			Type: wire.ReadResponse, Begin: at == 0, End: n == left, ConnID: p.ID, Number: h.Number, Order: wire.NoOrder, Offset: uint32(at),
		}, nil, make([]byte, n))
		if err != nil {
			p.t.Fatal(err)
		}
		p.Write(b)
		at += n
		left -= n
	}
}

// Drain reads until the other side closes, for ten seconds at most.
func (p *SocketPeer) Drain() {
	_ = p.Conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.Copy(io.Discard, p.Conn)
}
