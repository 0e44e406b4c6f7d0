package stream

import "sync"

// A batch is sent over TLS in two steps. First all its records are made and held, which waits for
// no peer, so that its regions can be unpinned. Then they are written together, by one system call
// if the socket takes them. crypto/tls alone would write each record, of at most 16 KiB, and a
// write that was interrupted could not be continued.

// held is the part of tlsSocket that holds records.
type held struct {
	mu   sync.Mutex
	on   bool
	buf  *[]byte // of heldBuffers, while on is set
	done int     // bytes of buf that were written
}

// heldBuffers are the buffers that no connection has borrowed. A batch needs little more than
// batchBytes.
var heldBuffers = sync.Pool{New: func() any { return new([]byte) }}

// encrypt makes the records of a batch. flush must follow.
func (c *tlsConn) encrypt(b *batch) error {
	c.sock.hold()
	b.staged, b.direct = b.staged+b.direct, 0
	return b.writeEach(c.tls)
}

// hold makes Write hold records until flush has written them.
func (h *held) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on, h.done, h.buf = true, 0, heldBuffers.Get().(*[]byte)
	*h.buf = (*h.buf)[:0]
}

// Write implements net.Conn, for crypto/tls. The reader may call it too, to answer a KeyUpdate: its
// record then follows those that are held.
func (s *tlsSocket) Write(b []byte) (int, error) {
	s.held.mu.Lock()
	if on := s.held.on; on {
		*s.held.buf = append(*s.held.buf, b...)
		s.held.mu.Unlock()
		return len(b), nil
	}
	s.held.mu.Unlock()
	return s.Conn.Write(b)
}

// flush writes the records that are held, up to the write deadline. After an error of the deadline
// it can be called again.
func (c *tlsConn) flush() error {
	h := &c.sock.held
	for {
		h.mu.Lock()
		rest := (*h.buf)[h.done:]
		if len(rest) == 0 {
			heldBuffers.Put(h.buf)
			h.on, h.buf = false, nil
			h.mu.Unlock()
			return nil
		}
		h.mu.Unlock()
		n, err := c.sock.Conn.Write(rest)
		if h.done += n; err != nil {
			return err
		}
	}
}
