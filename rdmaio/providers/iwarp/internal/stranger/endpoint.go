package stranger

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Patience is the time that Next waits for the other end.
const Patience = 10 * time.Second

// Config describes an Endpoint.
type Config struct {
	Startup // the frame that this end sends

	// MaxULPDU is the length of the longest ULPDU that this end sends. If zero, 1442: what fits
	// into an Ethernet frame.
	MaxULPDU int

	// Early lets a responder send before the first FPDU of the initiator (RFC 5044 §7.1.2 rule 4).
	Early bool

	// HoldReads makes Read Requests wait for Answer.
	HoldReads bool

	// Deaf keeps the endpoint from reading the stream until Hear.
	Deaf bool

	// Reply returns the Reply to a Request. If nil, Answer of Startup does.
	Reply func(request Startup) Startup

	// Regions and Buffers are there before anything is received: see Expose and Post.
	Regions map[uint32]Region
	Buffers []int

	// Chop returns the length of the next write to the stream, of n bytes that are due. If nil,
	// each FPDU is one write.
	Chop func(n int) int
}

// Endpoint is one end of a connection. Its methods can be called from several goroutines. Two
// goroutines of its own read and write the stream.
type Endpoint struct {
	Conn      net.Conn
	Initiator bool
	CRC       bool    // CRCs are generated and checked
	Peer      Startup // the other end's frame
	cfg       Config

	mu      sync.Mutex // guards all below but group
	regions regions
	posted  []int // sizes of the buffers of queue 0
	numbers numbers
	message []byte   // received so far of the open message of queue 0
	open    *Segment // the last segment of the open message, tagged or not

	reads   []pending // ours, in the order of their requests
	waiting []Read    // the peer's, held

	begun   bool // an FPDU was received
	stopped bool // a Terminate was sent or received
	over    bool // one was received
	out     outbox
	book    book
	group   sync.WaitGroup
}

// numbers has the MSNs of the three queues, which begin at 1 (RFC 5041 §5.3).
type numbers struct {
	due      [3]uint32 // of the next message sent
	expected [3]uint32 // of the next message received
}

// next returns the MSN of the next message sent to a queue, and counts it.
func (n *numbers) next(queue uint32) uint32 {
	n.due[queue]++
	return n.due[queue] - 1
}

// pending is a Read that this end has sent.
type pending struct {
	Read
	got int
	rtr bool
}

// Attach returns an Endpoint on a stream behind its startup frames.
func Attach(conn net.Conn, cfg Config, initiator bool, peer Startup) *Endpoint {
	if cfg.MaxULPDU == 0 {
		cfg.MaxULPDU = 1442
	}
	p := &Endpoint{
		Conn: conn, Initiator: initiator, CRC: cfg.CRC || peer.CRC, Peer: peer, cfg: cfg,
		regions: make(regions), numbers: numbers{due: [3]uint32{1, 1, 1}, expected: [3]uint32{1, 1, 1}},
		book: book{wake: make(chan struct{}, 1)},
	}
	p.out = outbox{crc: p.CRC, held: !initiator && !cfg.Early}
	p.out.writable.L = &p.mu
	for stag, r := range cfg.Regions {
		p.Expose(stag, r)
	}
	p.Post(cfg.Buffers...)
	if !cfg.Deaf {
		p.group.Go(p.reader)
	}
	p.group.Go(p.writer)
	return p
}

// Hear starts to read the stream of a Deaf endpoint.
func (p *Endpoint) Hear() { p.group.Go(p.reader) }

// Close ends the stream at once, and waits for the goroutines.
func (p *Endpoint) Close() {
	p.mu.Lock()
	p.out.close()
	p.mu.Unlock()
	p.Conn.Close()
	p.group.Wait()
}

// CloseWrite ends this direction of the stream behind the queue.
func (p *Endpoint) CloseWrite() { p.queue(outgoing{last: true}) }

// queue makes a piece due.
func (p *Endpoint) queue(o outgoing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.put(o)
}

// writer writes the queue.
func (p *Endpoint) writer() {
	for {
		p.mu.Lock()
		o, ok := p.out.take()
		p.mu.Unlock()
		if !ok {
			return
		}
		for b := o.b; len(b) > 0; {
			n := len(b)
			if p.cfg.Chop != nil && !o.whole {
				n = min(n, max(1, p.cfg.Chop(n)))
			}
			if _, err := p.Conn.Write(b[:n]); err != nil {
				return // the reader reports the end
			}
			b = b[n:]
		}
		if o.last {
			endWrite(p.Conn)
			return
		}
	}
}

// endWrite ends one direction of a stream, if it has two.
func endWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		return
	}
	conn.Close()
}

// Poll returns the next event, if one comes in time.
func (p *Endpoint) Poll(wait time.Duration) (e Event, ok bool) {
	alarm := time.NewTimer(wait)
	defer alarm.Stop()
	for {
		p.mu.Lock()
		e, ok = p.book.take()
		p.mu.Unlock()
		if ok {
			return e, true
		}
		select {
		case <-p.book.wake:
		case <-alarm.C:
			return e, false
		}
	}
}

// Next returns the next event. After Patience it returns an Ended whose error says so.
func (p *Endpoint) Next() Event {
	e, ok := p.Poll(Patience)
	if !ok {
		return Event{Kind: Ended, Err: fmt.Errorf("stranger: nothing came in %v", Patience)}
	}
	return e
}

// Complaints lists what the other end sent that a sender must not send, and a receiver must accept
// or may ignore.
func (p *Endpoint) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.book.complaints...)
}

// Received returns the segments that came so far.
func (p *Endpoint) Received() []Segment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Segment(nil), p.book.received...)
}
