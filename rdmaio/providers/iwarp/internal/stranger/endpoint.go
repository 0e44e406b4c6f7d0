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

	mu      sync.Mutex
	regions map[uint32]*Region
	posted  []int // sizes of the buffers of queue 0

	due      [3]uint32 // the MSN of the next message sent to a queue
	expected [3]uint32 // the MSN of the next message received on a queue
	message  []byte    // received so far of the open message of queue 0
	open     *Segment  // the last segment of the open message, tagged or not

	reads   []pending // ours, in the order of their requests
	waiting []Read    // the peer's, held

	begun    bool // an FPDU was received
	stopped  bool // a Terminate was sent or received
	over     bool // one was received
	out      []outgoing
	writable *sync.Cond
	closing  bool

	events     []Event
	wake       chan struct{}
	complaints []string
	received   []Segment // all segments, as they came
	group      sync.WaitGroup
}

// outgoing is a piece of the stream that is due to be written.
type outgoing struct {
	b     []byte
	last  bool // the stream ends behind it
	whole bool // not chopped
}

// pending is a Read that this end has sent.
type pending struct {
	Read
	got int
	rtr bool
}

// Kind is the kind of an Event.
type Kind byte

// The kinds.
const (
	Message    Kind = iota // a Send of any opcode
	ReadDone               // a Read of this end has its data
	Terminated             // the other end sent a Terminate
	Failed                 // this end found an error and sent a Terminate
	Ended                  // the stream has ended
)

// Event is a message, or the end of a Read or of the stream.
type Event struct {
	Kind      Kind
	Opcode    Opcode // of a Message
	Payload   []byte
	STag      uint32    // invalidated by the Message
	Terminate Terminate // received or sent
	Err       error     // of the stream, if Ended
}

// String returns the event in words.
func (e Event) String() string {
	switch e.Kind {
	case Message:
		return fmt.Sprintf("message of %d bytes, opcode %d, STag %#x", len(e.Payload), e.Opcode, e.STag)
	case ReadDone:
		return "Read done"
	case Terminated:
		return fmt.Sprintf("got Terminate %v", e.Terminate.Code)
	case Failed:
		return fmt.Sprintf("sent Terminate %v", e.Terminate.Code)
	}
	return fmt.Sprintf("end of stream: %v", e.Err)
}

// Attach returns an Endpoint on a stream behind its startup frames.
func Attach(conn net.Conn, cfg Config, initiator bool, peer Startup) *Endpoint {
	if cfg.MaxULPDU == 0 {
		cfg.MaxULPDU = 1442
	}
	p := &Endpoint{
		Conn: conn, Initiator: initiator, CRC: cfg.CRC || peer.CRC, Peer: peer, cfg: cfg,
		regions: make(map[uint32]*Region), due: [3]uint32{1, 1, 1}, expected: [3]uint32{1, 1, 1},
		wake: make(chan struct{}, 1),
	}
	p.writable = sync.NewCond(&p.mu)
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
	p.closing = true
	p.writable.Broadcast()
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
	p.enqueue(o)
}

// enqueue does the same for callers that hold mu.
func (p *Endpoint) enqueue(o outgoing) {
	p.out = append(p.out, o)
	p.writable.Broadcast()
}

// fenced reports whether this end must not send yet.
func (p *Endpoint) fenced() bool {
	return !p.Initiator && !p.begun && !p.cfg.Early
}

// writer writes the queue.
func (p *Endpoint) writer() {
	for {
		p.mu.Lock()
		for !p.closing && (len(p.out) == 0 || p.fenced()) {
			p.writable.Wait()
		}
		if p.closing {
			p.mu.Unlock()
			return
		}
		o := p.out[0]
		p.out = p.out[1:]
		p.mu.Unlock()
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

// emit appends an event. Callers hold mu.
func (p *Endpoint) emit(e Event) {
	p.events = append(p.events, e)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Poll returns the next event, if one comes in time.
func (p *Endpoint) Poll(wait time.Duration) (e Event, ok bool) {
	alarm := time.NewTimer(wait)
	defer alarm.Stop()
	for {
		p.mu.Lock()
		if len(p.events) > 0 {
			e, p.events = p.events[0], p.events[1:]
			p.mu.Unlock()
			return e, true
		}
		p.mu.Unlock()
		select {
		case <-p.wake:
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
	return append([]string(nil), p.complaints...)
}

// Received returns the segments that came so far.
func (p *Endpoint) Received() []Segment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Segment(nil), p.received...)
}

// complain notes a complaint. Callers hold mu.
func (p *Endpoint) complain(format string, args ...any) {
	p.complaints = append(p.complaints, fmt.Sprintf(format, args...))
}
