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
