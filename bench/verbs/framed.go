package verbs

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
)

// maxSegment is the most payload that fits one RDMA_Write segment and needs no
// padding (draft-williams-rdmatcp-00 §2: a segment has at most 65,535 octets).
const maxSegment = 65500

// framing is one end of a framed connection, with a slot for each concurrent operation.
type framing struct {
	segments bool
	shape    Shape
	places   [][]byte
	r        *reader
	w        *writer
}

func newFraming(conn net.Conn, k kind, s Shape) *framing {
	f := &framing{segments: k == kindSegments, shape: s, r: newReader(conn, s), w: newWriter(conn)}
	for range s.Depth {
		f.places = append(f.places, make([]byte, s.Size))
	}
	return f
}

// send queues body for a slot of the peer, in one frame or in segments of about
// the same length.
func (f *framing) send(slot int, body []byte) {
	f.w.queue(func(b *batch) {
		if !f.segments {
			b.own = header{slot: uint32(slot), length: uint32(len(body)), last: true}.append(b.own)
			b.add(body)
			return
		}
		count := max(1, (len(body)+maxSegment-1)/maxSegment)
		each := ((len(body)+count-1)/count + 3) &^ 3
		for from := 0; count > 0; count-- {
			part := body[from:min(from+each, len(body))]
			at := len(b.own)
			b.own = header{uint32(slot), uint32(len(part)), uint32(from), count == 1}.append(b.own)
			sum := crc.Update(crc.Checksum(b.own[at:]), part)
			b.add(part)
			b.own = append(b.own, 0, 0, 0, 0)
			crc.Put(b.own[len(b.own)-crc.Size:], sum)
			from += len(part)
		}
	})
}

var errCRC = errors.New("CRC does not match")

// receive reads one frame to its destination.
func (f *framing) receive() (header, error) {
	b, err := f.r.next(headerSize)
	if err != nil {
		return header{}, err
	}
	h := parseHeader(b)
	if int64(h.slot) >= int64(len(f.places)) || int64(h.offset)+int64(h.length) > int64(f.shape.Size) {
		return h, fmt.Errorf("frame of %d octets at %d for slot %d: beyond %v", h.length, h.offset, h.slot, f.shape)
	}
	sum := uint32(0)
	if f.segments {
		sum = crc.Checksum(b)
	}
	place := f.places[h.slot][h.offset:][:h.length]
	if err := f.r.into(place); err != nil {
		return h, err
	}
	if f.segments {
		field, err := f.r.next(crc.Size)
		if err != nil {
			return h, err
		}
		if crc.Get(field) != crc.Update(sum, place) {
			return h, errCRC
		}
	}
	return h, nil
}

// serveFramed answers each message with the same message, and bulk data with an empty one.
func serveFramed(conn net.Conn, k kind, s Shape) error {
	f := newFraming(conn, k, s)
	answer := func(slot int) {
		if s.Size > messageSize {
			f.send(slot, nil)
		} else {
			f.send(slot, f.places[slot])
		}
	}
	for {
		h, err := f.receive()
		if err != nil {
			return err
		}
		switch {
		case !h.last:
		case k == kindFramedGo:
			go func() {
				answer(int(h.slot))
				f.w.flush(true) // the reader gets the error too
			}()
		default:
			answer(int(h.slot))
		}
		if f.r.buffered() < headerSize && k != kindFramedGo {
			if err := f.w.flush(false); err != nil {
				return err
			}
		}
	}
}

// FramedClient makes calls over a framed connection.
type FramedClient struct {
	*framing
	conn net.Conn
	body []byte
	done []chan struct{} // by slot; closed at the end
	err  error           // the reason; set before done is closed
}

// DialFramed connects to ServeTCP; the name is Framed, FramedGo or Segments.
func DialFramed(addr, name string, s Shape) (*FramedClient, error) {
	k := map[string]kind{Framed: kindFramed, FramedGo: kindFramedGo, Segments: kindSegments}[name]
	conn, err := greet(addr, k, s)
	if err != nil {
		return nil, err
	}
	c := &FramedClient{framing: newFraming(conn, k, s), conn: conn, body: make([]byte, s.Size)}
	for range s.Depth {
		c.done = append(c.done, make(chan struct{}, 1))
	}
	go c.read()
	return c, nil
}

// read reads answers until the connection ends. Then calls in progress and later calls fail.
func (c *FramedClient) read() {
	defer c.conn.Close()
	for {
		h, err := c.receive()
		if err != nil {
			c.err = err
			for _, d := range c.done {
				close(d)
			}
			return
		}
		if h.last {
			c.done[h.slot] <- struct{}{}
		}
	}
}

// Call makes a call in a slot. There are Shape.Depth slots, and each has one call at a time.
func (c *FramedClient) Call(slot int) error {
	c.send(slot, c.body)
	if err := c.w.flush(c.shape.Depth > 1 && c.shape.Size <= small); err != nil {
		return err
	}
	if _, ok := <-c.done[slot]; !ok {
		return c.err
	}
	return nil
}

// Close closes the connection. Calls in progress fail.
func (c *FramedClient) Close() error { return c.conn.Close() }

// run makes n calls, Depth at a time.
func (c *FramedClient) run(n int) (time.Duration, error) {
	if c.shape.Depth == 1 && c.shape.Size <= messageSize {
		return Latencies(func() error { return c.Call(0) })(n)
	}
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, c.shape.Depth)
	var wg sync.WaitGroup
	start := time.Now()
	for slot := range c.shape.Depth {
		wg.Go(func() {
			for left.Add(-1) >= 0 && errs[slot] == nil {
				errs[slot] = c.Call(slot)
			}
		})
	}
	wg.Wait()
	return time.Since(start), errors.Join(errs...)
}
