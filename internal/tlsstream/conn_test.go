package tlsstream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"
)

// script is a connection that returns the bytes of a reader and keeps all written bytes.
type script struct {
	net.Conn
	io.Reader
	mu      sync.Mutex
	written bytes.Buffer
	most    int // bytes that a write takes, if not 0
}

var errNoRoom = errors.New("no room")

func (s *script) Read(b []byte) (int, error) { return s.Reader.Read(b) }

func (s *script) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && len(b) > s.most {
		s.written.Write(b[:s.most])
		return s.most, errNoRoom
	}
	return s.written.Write(b)
}

// record returns a record of n bytes.
func record(kind byte, n int) []byte {
	b := append([]byte{kind, 3, 3, byte(n >> 8), byte(n)}, make([]byte, n)...)
	for i := range b[5:] {
		b[5+i] = byte(i)
	}
	return b
}

// During the handshake a socket returns all records in order, none before it is whole, however the
// stream splits them. After the handshake it returns what it has read ahead and then all else.
func TestTLSSocket(t *testing.T) {
	records := [][]byte{record(22, 1500), record(20, 1), record(23, 16640), record(23, 0), record(21, 2)}
	all := bytes.Join(records, nil)
	for name, split := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "by byte": iotest.OneByteReader, "in halves": iotest.HalfReader, "end with data": iotest.DataErrReader,
	} {
		for settled := range len(records) + 1 {
			s := &socket{Conn: &script{Reader: split(bytes.NewReader(all))}}
			var got []byte
			for i, want := range records[:settled] {
				for n := 0; n < len(want); {
					b := make([]byte, 1000)
					k, err := s.Read(b)
					if n += k; err != nil || n > len(want) {
						t.Fatalf("%s: record %d: %d of %d bytes, %v", name, i, n, len(want), err)
					}
					got = append(got, b[:k]...)
				}
			}
			s.settled = true
			rest, err := io.ReadAll(s)
			if err != nil || !bytes.Equal(append(got, rest...), all) || !s.ended {
				t.Errorf("%s: settled after %d: %d bytes, %v, ended %v", name, settled, len(got)+len(rest), err, s.ended)
			}
		}
	}
}

// A stream that ends anywhere inside a record returns nothing of it, and its end.
func TestTLSSocketTruncated(t *testing.T) {
	whole := record(22, 600)
	for n := range whole {
		s := &socket{Conn: &script{Reader: bytes.NewReader(whole[:n])}}
		if k, err := s.Read(make([]byte, 1000)); k != 0 || err != io.EOF || !s.ended || s.received != int64(n) {
			t.Errorf("%d of %d bytes: %d, %v, received %d", n, len(whole), k, err, s.received)
		}
	}
}

// FuzzTLSSocket reads arbitrary bytes as the records of a handshake. The result is the beginning of
// the stream, and the socket has no more memory than twice the bytes that have arrived.
func FuzzTLSSocket(f *testing.F) {
	f.Add([]byte{22, 3, 1, 0x40, 0}, uint8(0))
	f.Add(bytes.Join([][]byte{record(22, 100), record(20, 1), record(23, 70)}, nil), uint8(2))
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, settled uint8) {
		s := &socket{Conn: &script{Reader: iotest.HalfReader(bytes.NewReader(b))}}
		var got []byte
		buf := make([]byte, 4096)
		for i := uint8(0); ; i++ {
			s.settled = s.settled || i == settled
			n, err := s.Read(buf)
			got = append(got, buf[:n]...)
			if cap(s.ahead) > max(512, 2*int(s.received)) {
				t.Fatalf("%d bytes of memory after %d from the peer", cap(s.ahead), s.received)
			}
			if err != nil {
				break
			}
		}
		if !bytes.HasPrefix(b, got) {
			t.Errorf("%x, want the beginning of %x", got, b)
		}
	})
}

// A record that is announced costs no memory before it arrives.
func TestTLSSocketMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		s := &socket{Conn: &script{Reader: bytes.NewReader([]byte{22, 3, 1, 0x40, 0})}}
		s.Read(make([]byte, 8))
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 1<<10 {
		t.Errorf("%d bytes for a header of 5, want at most 1 KiB", each)
	}
}

// A record written while a batch is held follows the batch, and a flush that fails in the middle
// continues.
func TestTLSHeld(t *testing.T) {
	to := &script{most: 7}
	c := &Conn{sock: socket{Conn: to}}
	c.sock.hold()
	c.sock.Write([]byte("the records of a batch, "))
	c.sock.Write([]byte("and one of the reader"))
	for range 3 {
		if err := c.Flush(); !errors.Is(err, errNoRoom) {
			t.Fatalf("%v, want %v", err, errNoRoom)
		}
	}
	to.most = 0
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	c.sock.Write([]byte(", then others"))
	if got, want := to.written.String(), "the records of a batch, and one of the reader, then others"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
