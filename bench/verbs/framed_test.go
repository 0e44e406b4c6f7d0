package verbs

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// ends returns the two halves of a connection whose server reads and never runs.
func ends(t *testing.T, k kind, s Shape) (from, to *framing) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return newFraming(a, k, s), newFraming(b, k, s)
}

func TestSegmentation(t *testing.T) {
	for _, c := range []struct {
		kind   kind
		size   int
		frames int
	}{
		{kindFramed, 1, 1},
		{kindFramed, 1 << 20, 1},
		{kindSegments, 1, 1},
		{kindSegments, maxSegment, 1},
		{kindSegments, maxSegment + 1, 2},
		{kindSegments, 64 << 10, 2},
		{kindSegments, 1 << 20, 17},
		{kindSegments, 3*maxSegment - 1, 3},
	} {
		from, to := ends(t, c.kind, Shape{c.size, 2})
		body := make([]byte, c.size)
		for i := range body {
			body[i] = byte(i % 251)
		}
		from.send(1, body)
		go from.w.flush(false)
		for frame := 1; ; frame++ {
			h, err := to.receive()
			if err != nil {
				t.Fatalf("%c %d: %v", c.kind, c.size, err)
			}
			if c.kind == kindSegments && h.length > maxSegment {
				t.Errorf("%c %d: a segment of %d octets", c.kind, c.size, h.length)
			}
			if h.last != (frame == c.frames) {
				t.Fatalf("%c %d: frame %d, last %v, want %d frames", c.kind, c.size, frame, h.last, c.frames)
			}
			if h.last {
				break
			}
		}
		if !bytes.Equal(to.places[1], body) {
			t.Errorf("%c %d: the payload arrived changed", c.kind, c.size)
		}
	}
}

func TestRefusedFrames(t *testing.T) {
	s := Shape{8 << 10, 2}
	for _, c := range []struct {
		name   string
		change func(sent []byte)
		want   string
	}{
		{"slot", func(b []byte) { b[3] = 2 }, "for slot 2: beyond 8 KiB x 2"},
		{"length", func(b []byte) { b[4] = 1 }, "for slot 1: beyond"},
		{"offset", func(b []byte) { b[11] = 1 }, "octets at 1 for slot 1: beyond"},
		{"payload", func(b []byte) { b[headerSize+5000] ^= 1 }, errCRC.Error()},
		{"header", func(b []byte) { b[headerSize-1] ^= 1 }, errCRC.Error()},
		{"CRC", func(b []byte) { b[len(b)-1] ^= 1 }, errCRC.Error()},
	} {
		from, to := ends(t, kindSegments, s)
		go func() {
			// What send makes, in one piece.
			from.send(1, make([]byte, s.Size))
			a, b := net.Pipe()
			go func() { from.w.queued.write(a); a.Close() }()
			sent, _ := io.ReadAll(b)
			c.change(sent)
			from.w.conn.Write(sent)
		}()
		if _, err := to.receive(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestRefusedGreetings(t *testing.T) {
	for _, c := range []struct {
		greeting []byte
		want     string
	}{
		{Shape{1, 1}.append([]byte{'x'}), "found a greeting of unknown kind 0x78"},
		{Shape{0, 1}.append([]byte{'e'}), "shape 0 B x 1: expected 1 to"},
		{Shape{1, 1 << 20}.append([]byte{'f'}), "depth 1 to"},
		{Shape{maxSize, maxDepth}.append([]byte{'f'}), "octets in all"},
		{[]byte{'e', 0}, io.ErrUnexpectedEOF.Error()},
	} {
		a, b := net.Pipe()
		go func() { a.Write(c.greeting); a.Close() }()
		if err := serveTCP(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("% x: error %v, want %q", c.greeting, err, c.want)
		}
	}
}

// Calls in progress and later calls fail when the peer disconnects.
func TestBrokenConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		if conn, err := ln.Accept(); err == nil {
			io.ReadFull(conn, make([]byte, greetingSize+1))
			conn.Close()
		}
	}()
	c, err := DialFramed(ln.Addr().String(), Framed, Shape{128, 4})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.run(100); err == nil {
			t.Error("calls without a server succeed")
		}
	}
	if _, err := DialFramed("127.0.0.1:1", Framed, Shape{1, 1}); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("error %v, want a refusal", err)
	}
}
