package mem

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A record has a word with its length before each fragment. The top bit is set for the last one
// (RFC 5531 §11). Package tcp sends records of one fragment.
const (
	markSize     = 4
	lastFragment = 1 << 31
)

// link is a connection of a Network. It has the inner ends of two pipes, and carries records from
// one to the other.
type link struct {
	net            *Network
	number         int
	client, server *end

	ends  [2]*stream  // that the client and the server have
	gone  atomic.Bool // Network.Vanish: nothing arrives any more
	lost  atomic.Bool // for the client; the server may notice later
	left  atomic.Bool // the client has closed its end; the server notices when a Stall is over
	once  sync.Once
	ended chan struct{} // closed when the link ends
}

// end is the inner end of a pipe.
type end struct {
	net.Conn
	turn chan struct{} // has an element while a goroutine writes
}

func newEnd(c net.Conn) *end { return &end{c, make(chan struct{}, 1)} }

// carry carries the records of one direction until the link ends. When an end is closed, what it
// has sent arrives before the other one is closed.
func (l *link) carry(reply bool) {
	defer l.net.wg.Done()
	from, to := l.client, l.server
	if reply {
		from, to = l.server, l.client
	}
	for n := 0; ; n++ {
		record, err := readRecord(from)
		if err != nil {
			if !l.lost.Load() && !l.gone.Load() {
				l.end()
			}
			return
		}
		if l.gone.Load() {
			continue
		}
		var f Fault
		if l.net.fault != nil {
			f = l.net.fault(Record{Conn: l.number, Reply: reply, Number: n, Message: record[markSize:]})
		}
		l.net.fired[f.Kind].Add(1)
		if !l.deliver(f, record, to) {
			return
		}
	}
}

// deliver delivers a record with a fault. It reports whether the link is still up.
func (l *link) deliver(f Fault, record []byte, to *end) bool {
	switch f.Kind {
	case Lose:
		l.lose(to, nil, f.Delay)
		return false
	case LoseAfter:
		l.lose(to, record, f.Delay)
		return false
	case Cut:
		l.lose(to, record[:min(max(f.Bytes, 0), len(record))], f.Delay)
		return false
	case Stall:
		return l.pause(f.Delay) && l.write(to, record)
	case Hold:
		l.net.wg.Go(func() {
			if l.pause(f.Delay) {
				l.write(to, record)
			}
		})
		return true
	case Repeat:
		first := l.write(to, record)
		return first && l.write(to, record)
	case Split:
		return l.write(to, split(record))
	}
	return l.write(to, record)
}

// stream is an end of a link, as package tcp has it.
type stream struct {
	net.Conn
	link    *link
	limit   atomic.Int64 // Config.PeerTimeout
	expired atomic.Bool  // the peer has been gone for that long
}

// Watch implements deadpeer.Watcher. It is called before the first use.
func (s *stream) Watch(limit time.Duration) { s.limit.Store(int64(limit)) }

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	return n, s.explain(err)
}

// Write implements net.Conn.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	return n, s.explain(err)
}

// explain returns the error of a system for a peer that is gone.
func (s *stream) explain(err error) error {
	if err != nil && s.expired.Load() {
		return syscall.ETIMEDOUT
	}
	return err
}

// vanish drops everything that either end sends from now on. Each notices by its PeerTimeout.
func (l *link) vanish() {
	if l.gone.Swap(true) {
		return
	}
	for i, inner := range []*end{l.client, l.server} {
		s := l.ends[i]
		if limit := time.Duration(s.limit.Load()); limit > 0 {
			l.net.wg.Go(func() {
				if l.pause(limit) {
					s.expired.Store(true)
					_ = inner.Close()
				}
			})
		}
	}
}

// clientStream is the client's end of a link.
type clientStream struct{ *stream }

// Close implements net.Conn.
func (c *clientStream) Close() error {
	c.link.left.Store(true)
	return c.Conn.Close()
}

// serverStream is the server's end of a link. It can be probed, as a connection over TCP can.
type serverStream struct{ *stream }

// Probe closes the link after limit if it is lost for the client, or closed by it. Nothing answers
// the probe, as when a firewall has forgotten the connection.
func (s *serverStream) Probe(limit time.Duration) {
	s.link.net.wg.Go(func() {
		if s.link.pause(limit) && (s.link.lost.Load() || s.link.left.Load()) {
			s.link.end()
		}
	})
}

// write writes bytes to an end, and reports whether the link is still up.
func (l *link) write(to *end, b []byte) bool {
	to.turn <- struct{}{}
	defer func() { <-to.turn }()
	if l.lost.Load() {
		return false
	}
	_, err := to.Write(b)
	return err == nil
}

// lose writes the last bytes to an end. Then it closes the link, for the client at once and for the
// server after a time.
func (l *link) lose(to *end, last []byte, delay time.Duration) {
	to.turn <- struct{}{}
	already := l.lost.Swap(true)
	if !already && len(last) > 0 { // a pipe would wait for a reader of nothing
		_, _ = to.Write(last)
	}
	<-to.turn
	if already {
		return // by the other direction
	}
	_ = l.client.Close()
	l.pause(delay)
	l.end()
}

// pause waits, and reports whether the link is still up.
func (l *link) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ended:
	case <-l.net.ctx.Done():
	}
	return false
}

// end closes the link for both ends.
func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		l.net.forget(l)
		_, _ = l.client.Close(), l.server.Close()
	})
}

// readRecord reads a record of one fragment, with its mark.
func readRecord(r io.Reader) ([]byte, error) {
	record := make([]byte, markSize)
	if _, err := io.ReadFull(r, record); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(record) &^ lastFragment)
	record = append(record, make([]byte, n)...)
	_, err := io.ReadFull(r, record[markSize:])
	return record, err
}

// split returns a record in fragments: none, a third and the rest of the message.
func split(record []byte) []byte {
	message := record[markSize:]
	third := len(message) / 3
	out := binary.BigEndian.AppendUint32(nil, 0)
	out = append(binary.BigEndian.AppendUint32(out, uint32(third)), message[:third]...)
	return append(binary.BigEndian.AppendUint32(out, lastFragment|uint32(len(message)-third)), message[third:]...)
}
