package tlsstream

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// An answer that the reader of a connection sends, to a KeyUpdate for example, does not wait for a
// peer that does not read. During the handshake the caller's deadline applies.
func TestAnswerToSilentPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		start := time.Now()
		s := &socket{Conn: ours, settled: true}
		if _, err := s.Write([]byte("answer")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != answerTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		s = &socket{Conn: ours}
		_ = ours.SetWriteDeadline(time.Now().Add(time.Hour))
		start = time.Now()
		if _, err := s.Write([]byte("hello")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// While a batch is flushed to a peer that does not read, the answers to its KeyUpdates take bounded
// memory (RFC 8446 §4.6.3).
func TestAnswersWhileFlushing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := &Conn{sock: socket{Conn: ours, settled: true}}
		c.sock.hold()
		_, _ = c.sock.Write([]byte("batch"))
		flushed := make(chan error, 1)
		go func() { flushed <- c.Flush() }()
		synctest.Wait()
		sent := 0
		for err := error(nil); err == nil && sent < 1<<20; {
			var n int
			n, err = c.sock.Write(make([]byte, 27))
			sent += n
		}
		if sent < mostAnswers/2 || sent > mostAnswers {
			t.Errorf("%d bytes of answers are held, at most %d", sent, mostAnswers)
		}
		_ = theirs.Close()
		if err := <-flushed; err == nil {
			t.Error("flushed to no peer")
		}
	})
}
