//go:build unix

package tcp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// sockets returns the two ends of a connection over TCP.
func sockets(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return ours, theirs
}

// socketInput returns an input that reads from a socket, with the other end of that.
func socketInput(t *testing.T) (in *input, large *atomic.Int32, peer net.Conn) {
	t.Helper()
	ours, theirs := sockets(t)
	in, large = new(input), new(atomic.Int32)
	in.reset(ours, large)
	return in, large, theirs
}

// send writes to a socket.
func send(t *testing.T, to net.Conn, b []byte) {
	t.Helper()
	if _, err := to.Write(b); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a number has a value.
func eventually(t *testing.T, what string, n *atomic.Int32, want int32) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); n.Load() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: %d, want %d", what, n.Load(), want)
		}
	}
}

// fillWith reads into the buffer until n bytes are in it.
func fillWith(t *testing.T, in *input, n int) {
	t.Helper()
	for in.buffered() < n {
		if err := in.fill(); err != nil {
			t.Fatal(err)
		}
	}
}

// A read of a socket that finds nothing gives the buffer back before it waits, with a part of a
// mark in it, too. The part is not lost.
func TestReadThatWaitsHasNoBuffer(t *testing.T) {
	for part := range markSize {
		in, large, peer := socketInput(t)
		send(t, peer, []byte("first"))
		fillWith(t, in, 5)
		if n := large.Load(); n != 1 {
			t.Fatalf("%d buffers are in use, want 1", n)
		}
		_, _ = in.discard(5) // they are buffered
		mark := []byte("mark")
		send(t, peer, mark[:part])
		fillWith(t, in, part)
		got := make(chan string, 1)
		go func() {
			b, err := in.peek(markSize)
			if err != nil {
				t.Error(err)
			}
			got <- string(b)
		}()
		eventually(t, "buffers in use", large, 0)
		send(t, peer, mark[part:])
		if b := <-got; b != string(mark) {
			t.Errorf("with %d bytes before the wait: found %q", part, b)
		}
		if in.release(); large.Load() != 0 {
			t.Errorf("%d buffers are in use at the end", large.Load())
		}
	}
}

// Bytes that belong to more than a mark stay in the buffer during a wait.
func TestReadThatWaitsKeepsBytes(t *testing.T) {
	in, _, peer := socketInput(t)
	send(t, peer, []byte("12345"))
	fillWith(t, in, 5)
	_ = peer.(*net.TCPConn).CloseWrite()
	if err := in.fill(); err != io.EOF {
		t.Errorf("found %v, want %v", err, io.EOF)
	}
	if b, err := in.peek(5); string(b) != "12345" || err != nil {
		t.Errorf("found %q, %v", b, err)
	}
}

// A server has so many large buffers, and small ones beyond.
func TestLargeBuffersAreLimited(t *testing.T) {
	for _, others := range []int32{mostLarge - 1, mostLarge} {
		in, large, peer := socketInput(t)
		large.Store(others)
		send(t, peer, []byte{1})
		fillWith(t, in, 1)
		want := map[bool]int{true: largeBuffer, false: readBuffer}[others < mostLarge]
		if len(in.memory) != want || large.Load() != min(others+1, mostLarge) {
			t.Errorf("with %d others: a buffer of %d bytes, %d in use", others, len(in.memory), large.Load())
		}
		in.release()
		if n := large.Load(); n != others {
			t.Errorf("with %d others: %d in use at the end", others, n)
		}
	}
}

// Short records are read many at a time. After a long one a read is short, so that most of the next
// long one is read into its own memory.
func TestReadFollowsRecords(t *testing.T) {
	in, large, peer := socketInput(t)
	rd := &records{maxSize: 1 << 20, maxFragments: 1, deadline: func(time.Time) {}, grow: func(int, bool) error { return nil }}
	rd.r.reset(in.src, large)
	short, long := framed(make([]byte, 100)), framed(make([]byte, readBuffer))
	many := bytes.Repeat(short, 300)
	for round := range 3 {
		for _, first := range [][]byte{short, long} {
			send(t, peer, first)
			if _, err := rd.next(make([]byte, 0, readBuffer)); err != nil {
				t.Fatal(err)
			}
			if rd.r.buffered() != 0 {
				t.Fatalf("%d bytes too many", rd.r.buffered())
			}
			send(t, peer, many)
			time.Sleep(time.Millisecond) // usually all are there; a part proves less
			err := rd.r.fill()
			if n := rd.r.buffered(); err != nil || len(first) > len(short) && n > readBuffer {
				t.Errorf("round %d: a read after a record of %d bytes brought %d, %v", round, len(first), n, err)
			} else if len(first) == len(short) && len(rd.r.room())+n != largeBuffer {
				t.Errorf("round %d: after a short record there is room for %d bytes", round, len(rd.r.room()))
			}
			if _, err := rd.r.discard(len(many)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A long read passes the buffer by, and needs none.
func TestLongReadNeedsNoBuffer(t *testing.T) {
	in, large, peer := socketInput(t)
	send(t, peer, []byte("bytes"))
	b := make([]byte, readBuffer)
	if n, err := in.Read(b); err != nil || string(b[:n]) != "bytes"[:n] || in.memory != nil || large.Load() != 0 {
		t.Errorf("read %q, %v, into a buffer of %d bytes", b[:n], err, len(in.memory))
	}
}

// Errors of a socket are errors of package net.
func TestErrorsOfSockets(t *testing.T) {
	in, _, peer := socketInput(t)
	_ = in.src.(net.Conn).SetReadDeadline(time.Unix(1, 0))
	if err := in.fill(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("found %v, want %v", err, os.ErrDeadlineExceeded)
	}
	_ = in.src.(net.Conn).SetReadDeadline(time.Time{})
	_ = peer.(*net.TCPConn).SetLinger(0)
	_ = peer.Close()
	var op *net.OpError
	if err := in.fill(); !errors.As(err, &op) || op.Op != "read" || op.Addr.String() != peer.LocalAddr().String() {
		t.Errorf("after a reset: %v", err)
	}
	_ = in.src.(net.Conn).Close()
	if err := in.fill(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("found %v, want %v", err, net.ErrClosed)
	}
}

// silent is a stream whose reads bring neither bytes nor errors.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// A stream whose reads bring nothing is given up.
func TestReadsOfNothingEnd(t *testing.T) {
	in := input{src: silent{}}
	if err := in.fill(); err != io.ErrNoProgress {
		t.Errorf("found %v, want %v", err, io.ErrNoProgress)
	}
}

// A handler that runs on the goroutine that reads holds the buffer. A connection that rests, or
// is down, does not.
func TestRestingConnectionHasNoBuffer(t *testing.T) {
	for _, ends := range []bool{false, true} {
		set := (&Config{NonBlocking: true}).settle()
		with := alone()
		ours, theirs := sockets(t)
		during := make(chan int32, 1)
		var conn *Conn
		made := make(chan struct{})
		h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			<-made
			during <- with.large.Load()
			if ends {
				conn.fail(oncrpc.ErrClosed)
			}
			r.Drop(nil)
		})
		conn = newConn(ours, &set, true, h, with)
		close(made)
		send(t, theirs, framed(nullCall(t, 1).Inline))
		if n := <-during; n != 1 {
			t.Errorf("%d buffers are in use during a handler, want 1", n)
		}
		eventually(t, "buffers in use", &with.large, 0)
		_ = conn.Close()
	}
}
