package capture

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
)

// Limits bound what a Reader keeps. Zero fields have the defaults.
type Limits struct {
	Connections int // default 65536
	Calls       int // without a reply, for each end of a connection; default 65536
	Bytes       int // of memory for all connections; default 256 MiB
	Message     int // decoded bytes of a message, and memory of a continued one; default 16 MiB
}

// defaults sets the fields that are zero.
func (l *Limits) defaults() {
	orDefault(&l.Connections, 1<<16)
	orDefault(&l.Calls, 1<<16)
	orDefault(&l.Bytes, 256<<20)
	orDefault(&l.Message, 16<<20)
}

func orDefault(n *int, value int) {
	if *n <= 0 {
		*n = value
	}
}

// Reader finds the calls in a capture. It is not safe for concurrent use.
type Reader struct {
	file    *packets.Reader
	layers  packets.Layers
	limits  Limits
	handler Handler

	conns  map[connKey]*conn
	recent list.List // of *conn; the one whose last packet is oldest is at the back
	bytes  int
	count  int // numbers of connections given out
	evict  int // connections forgotten before the end

	// Packets is the number of packets read.
	Packets int64
	First   int64 // time of the first packet in nanoseconds since 1970
}

// connKey is the same for both directions: the lower address is first.
type connKey struct {
	protocol uint8
	ends     [2]netip.AddrPort
}

// NewReader returns a Reader of a pcap or pcapng file. It reads the file's header.
func NewReader(file io.Reader, limits Limits, handler Handler) (*Reader, error) {
	p, err := packets.NewReader(file)
	if err != nil {
		return nil, err
	}
	limits.defaults()
	return &Reader{file: p, limits: limits, handler: handler, conns: map[connKey]*conn{}}, nil
}

// Run reads the file to its end and reports its calls. If the file has a fault, the error is a
// [*packets.Error], and all calls before it were reported.
func (r *Reader) Run() error {
	for {
		p, err := r.file.Next()
		if err != nil {
			r.end()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if r.Packets++; r.Packets == 1 {
			r.First = p.Time
		}
		if d, ok := r.layers.Decode(p); ok {
			r.packet(&d)
		}
	}
}

// packet takes a TCP segment or UDP datagram.
func (r *Reader) packet(d *packets.Datagram) {
	key, from := connKey{d.Protocol, [2]netip.AddrPort{d.From, d.To}}, 0
	if d.To.Compare(d.From) < 0 {
		key.ends, from = [2]netip.AddrPort{d.To, d.From}, 1
	}
	c := r.conns[key]
	if c == nil {
		if d.Protocol == packets.UDP && !IsMessage(d.Payload) || d.Protocol == packets.TCP && len(d.Payload) == 0 && !d.SYN {
			return
		}
		c = r.connect(key)
	}
	r.recent.MoveToFront(c.place)
	c.last = d.Time
	if d.Protocol == packets.TCP {
		c.segment(from, d)
	} else if IsMessage(d.Payload) {
		c.datagram(from, d)
	}
	c.update()
	for r.bytes > r.limits.Bytes || len(r.conns) > r.limits.Connections {
		r.forget(r.recent.Back().Value.(*conn))
	}
}

// connect adds a connection.
func (r *Reader) connect(key connKey) *conn {
	c := &conn{reader: r, key: key}
	for i := range c.halves {
		c.halves[i].conn, c.halves[i].index = c, i
	}
	c.place = r.recent.PushFront(c)
	r.conns[key] = c
	return c
}

// forget frees the memory of a connection.
func (r *Reader) forget(c *conn) {
	if r.evict++; r.evict == 1 {
		r.handler.Note(Note{Time: c.last, Text: fmt.Sprintf(
			"more than %d connections or %d MiB are open: those without packets for the longest time are forgotten", r.limits.Connections, r.limits.Bytes>>20)})
	}
	r.remove(c)
}

func (r *Reader) remove(c *conn) {
	c.end()
	r.bytes -= c.size
	delete(r.conns, c.key)
	r.recent.Remove(c.place)
}

// end finishes all connections, and reports packets that were not decoded.
func (r *Reader) end() {
	var unknown int
	for r.recent.Len() > 0 {
		c := r.recent.Back().Value.(*conn)
		if c.carrier == "" && c.unknown > 0 {
			unknown++
		}
		r.remove(c)
	}
	if unknown > 0 {
		r.handler.Note(Note{Text: fmt.Sprintf("connections without RPC messages: %d", unknown)})
	}
	if n := r.layers.Unknown; n > 0 {
		r.handler.Note(Note{Text: fmt.Sprintf("packets of link types that are not decoded: %d, the last of type %d", n, r.layers.Link)})
	}
}
