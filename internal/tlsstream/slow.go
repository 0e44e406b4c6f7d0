package tlsstream

import (
	"errors"
	"os"
	"sync"
	"time"
)

// A record that has begun must come to its end. The code above TLS cannot see to that: it gets
// nothing of a record before all of it has arrived, and takes the connection for an idle one.

// ErrSlow reports that the reader waited for Options.RecordTimeout for the rest of a record.
var ErrSlow = errors.New("the rest of a TLS record did not come in time")

// records follows the records in a stream. One goroutine uses it.
type records struct {
	head int           // bytes of a header that have passed, less than recordHeader
	size int           // of the record, from the header
	left int           // bytes of the record after its header that have not passed
	wait time.Duration // for which the reader has waited for the rest of the record
}

// pass follows the next bytes.
func (r *records) pass(b []byte) {
	for len(b) > 0 {
		if n := min(r.left, len(b)); n > 0 {
			r.left -= n
			b = b[n:]
		} else {
			switch r.head++; r.head {
			case 4:
				r.size = int(b[0]) << 8
			case recordHeader:
				r.head, r.left = 0, r.size|int(b[0])
			}
			b = b[1:]
		}
		if !r.within() {
			r.wait = 0
		}
	}
}

// within reports whether the stream is inside a record.
func (r *records) within() bool { return r.head > 0 || r.left > 0 }

// deadline is the read deadline of a socket: the one that the code above TLS has set, or an earlier
// one while the reader waits for the rest of a record.
type deadline struct {
	mu    sync.Mutex
	above time.Time
	own   time.Time
}

// SetDeadline implements net.Conn.
func (s *socket) SetDeadline(t time.Time) error {
	s.deadline.mu.Lock()
	defer s.deadline.mu.Unlock()
	s.deadline.above = t
	if err := s.Conn.SetDeadline(t); err != nil || s.deadline.own.IsZero() {
		return err
	}
	return s.setDeadline()
}

// SetReadDeadline implements net.Conn.
func (s *socket) SetReadDeadline(t time.Time) error {
	s.deadline.mu.Lock()
	defer s.deadline.mu.Unlock()
	s.deadline.above = t
	return s.setDeadline()
}

// bound sets the deadline for the rest of a record, or removes it if t is zero.
func (s *socket) bound(t time.Time) error {
	s.deadline.mu.Lock()
	defer s.deadline.mu.Unlock()
	s.deadline.own = t
	return s.setDeadline()
}

// setDeadline sets the earlier of both deadlines. The lock must be held.
func (s *socket) setDeadline() error {
	d := &s.deadline
	if t := d.own; !t.IsZero() && (d.above.IsZero() || t.Before(d.above)) {
		return s.Conn.SetReadDeadline(t)
	}
	return s.Conn.SetReadDeadline(d.above)
}

// readRest reads inside a record. Only the time of such reads counts: a peer whose record is not
// read cannot go on.
func (s *socket) readRest(b []byte) (int, error) {
	start := time.Now()
	_ = s.bound(start.Add(s.limit - s.records.wait)) // fails if the socket is closed, as Read does
	n, err := s.Conn.Read(b)
	_ = s.bound(time.Time{})
	if s.records.wait += time.Since(start); n == 0 && s.records.wait >= s.limit && errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSlow
	}
	return n, err
}
