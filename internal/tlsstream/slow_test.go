package tlsstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
)

// The bytes of records, in pieces of any size, are followed to the end of each record.
func TestRecordsAreFollowed(t *testing.T) {
	stream := []byte{23, 3, 3, 1, 2}
	stream = append(append(stream, make([]byte, 0x102)...), 23, 3, 3, 0, 0, 23, 3, 3, 0, 1, 7)
	ends := map[int]bool{0: true, 5 + 0x102: true, 10 + 0x102: true, 16 + 0x102: true}
	for piece := 1; piece <= len(stream); piece++ {
		var r records
		for at := 0; at < len(stream); {
			n := min(piece, len(stream)-at)
			r.wait = time.Second
			r.pass(stream[at : at+n])
			if at += n; r.within() == ends[at] {
				t.Fatalf("pieces of %d: after %d bytes inside a record: %v", piece, at, r.within())
			}
			if ends[at] && r.wait != 0 {
				t.Fatalf("pieces of %d: the wait for a record counts for the next one", piece)
			}
		}
	}
}

// slowPair returns a server's end over TLS with a RecordTimeout of 10 s, and a function that writes
// the client's next record to it, or a part of the record.
func slowPair(t *testing.T) (s *Conn, write func(from, to int)) {
	a := tlstest.NewAuthority(t)
	ours, theirs := net.Pipe()
	o := Options{Config: a.Config(), Protocol: "toy", RecordTimeout: 10 * time.Second}
	o.Config.ServerName, o.Config.SessionTicketsDisabled = "server.example", true
	settings, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s = settings.Server(ours)
	lines := &recorded{Conn: theirs}
	c := settings.Client(lines, "")
	limit := time.Now().Add(time.Minute)
	done := make(chan error, 1)
	go func() { done <- c.Handshake(context.Background(), limit) }()
	if err := errors.Join(s.Handshake(context.Background(), limit), <-done); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	lines.on = true
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Close(), theirs.Close() })
	return s, func(from, to int) {
		b := lines.b.Bytes()
		if to < 0 {
			to += len(b)
		}
		if _, err := theirs.Write(b[from:to]); err != nil {
			t.Error(err)
		}
	}
}

// recorded keeps the bytes that are written to it.
type recorded struct {
	net.Conn
	on bool
	b  bytes.Buffer
}

func (r *recorded) Write(b []byte) (int, error) {
	if r.on {
		return r.b.Write(b)
	}
	return r.Conn.Write(b)
}

// A reader does not wait for the rest of a record for longer than RecordTimeout. The wait for its
// first byte has no limit.
func TestRecordThatStopsIsSlow(t *testing.T) {
	for _, to := range []int{1, 4, 5, 6, -1} {
		synctest.Test(t, func(t *testing.T) {
			s, write := slowPair(t)
			go func() { time.Sleep(time.Hour); write(0, to) }()
			start := time.Now()
			_, err := s.Read(make([]byte, 10))
			if d := time.Since(start); !errors.Is(err, ErrSlow) || d != time.Hour+10*time.Second {
				t.Errorf("%d bytes of a record: %v after %v", to, err, d)
			}
		})
	}
}

// The reader's own deadlines hold as without RecordTimeout. Only the time of reads counts: a
// peer whose record is not read cannot go on.
func TestTimeWithoutAReaderDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, write := slowPair(t)
		go write(0, 7)
		for range 5 {
			start := time.Now()
			_ = s.SetReadDeadline(start.Add(time.Second))
			_, err := s.Read(make([]byte, 10))
			if d := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || d != time.Second {
				t.Errorf("%v after %v", err, d)
			}
			time.Sleep(time.Minute)
		}
		_ = s.SetReadDeadline(time.Time{})
		start := time.Now()
		interrupted := time.AfterFunc(time.Second, func() { _ = s.SetReadDeadline(time.Unix(1, 0)) })
		if _, err := s.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("an interrupted read: %v after %v", err, time.Since(start))
		}
		interrupted.Stop()
		_ = s.SetReadDeadline(time.Time{})
		go func() { time.Sleep(3 * time.Second); write(7, -1) }()
		start = time.Now()
		if _, err := s.Read(make([]byte, 10)); !errors.Is(err, ErrSlow) || time.Since(start) != 4*time.Second {
			t.Errorf("after six seconds of waiting: %v after %v", err, time.Since(start))
		}
	})
}

// A record that comes in time is read. The wait for the next one has no limit.
func TestRecordInPartsIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, write := slowPair(t)
		go func() {
			write(0, 3)
			time.Sleep(9 * time.Second)
			write(3, -1)
			time.Sleep(time.Second - 1)
			write(26, 27)
		}()
		b := make([]byte, 10)
		if n, err := s.Read(b); err != nil || string(b[:n]) != "hello" {
			t.Errorf("%q, %v", b[:n], err)
		}
		start := time.Now()
		_ = s.SetReadDeadline(start.Add(time.Hour))
		if _, err := s.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("the wait for the next record: %v after %v", err, time.Since(start))
		}
	})
}
