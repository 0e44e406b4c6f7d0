package tlsstream

import (
	"errors"
	"sync"
	"time"
)

// A batch is sent over TLS in two steps. First all its records are made and held, which waits for
// no peer, so that its memory can be given back. Then they are written together, by one system call
// if the socket takes them. crypto/tls alone would write each record, of at most 16 KiB, and a
// write that was interrupted could not be continued.

// held is the part of socket that holds records.
type held struct {
	mu   sync.Mutex
	on   bool
	buf  *[]byte // of heldBuffers, while on is set
	done int     // bytes of buf that were written

	flushing bool // only the reader calls Write
	answers  int  // bytes of its answers meanwhile
}

// mostAnswers is the largest number of bytes that the reader answers while records are flushed.
const mostAnswers = 16 << 10

// errAnswers makes crypto/tls fail at the next write, and so ends the connection.
var errAnswers = errors.New("the peer asks for further TLS keys and does not read the answers")

// heldBuffers are the buffers that no connection has borrowed. A batch needs little more than its
// own size.
var heldBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Hold makes Write hold records until Flush has written them. Write then waits for no peer.
func (c *Conn) Hold() { c.sock.hold() }

func (h *held) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on, h.done, h.answers, h.buf = true, 0, 0, heldBuffers.Get().(*[]byte)
	*h.buf = (*h.buf)[:0]
}

// Write implements net.Conn, for crypto/tls. The reader may call it too, to answer a KeyUpdate: its
// record then follows those that are held.
func (s *socket) Write(b []byte) (int, error) {
	s.held.mu.Lock()
	if on := s.held.on; on {
		if s.held.flushing {
			if s.held.answers += len(b); s.held.answers > mostAnswers {
				s.held.mu.Unlock()
				return 0, errAnswers
			}
		}
		*s.held.buf = append(*s.held.buf, b...)
		s.held.mu.Unlock()
		return len(b), nil
	}
	s.held.mu.Unlock()
	if s.settled {
		// The reader sends an answer. crypto/tls is locked meanwhile, so a peer that does not read
		// would hold the writer, too.
		_ = s.Conn.SetWriteDeadline(time.Now().Add(answerTime))
		defer s.Conn.SetWriteDeadline(time.Time{})
	}
	return s.Conn.Write(b)
}

// answerTime is the longest time that the answer to a KeyUpdate may take.
const answerTime = 5 * time.Second

func (h *held) setFlushing(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flushing = on
}

// Flush writes the records that are held, up to the write deadline. After an error of the deadline
// it can be called again.
func (c *Conn) Flush() error {
	h := &c.sock.held
	h.setFlushing(true)
	defer h.setFlushing(false)
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
