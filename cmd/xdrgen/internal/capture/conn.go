package capture

import (
	"container/list"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
)

// conn is a connection, or the datagrams between two UDP ports.
type conn struct {
	reader  *Reader
	key     connKey
	place   *list.Element // in Reader.recent
	halves  [2]half
	carrier Carrier     // "" until it is found
	public  *Connection // nil until a message was found
	size    int         // bytes that Reader.bytes has for it
	unknown int64       // bytes in which no protocol was found
	tls     bool
	opened  bool // opener is the index of the end that opened the connection
	opener  int
	last    int64 // time of the last packet
}

// base is the cost of an empty connection in bytes.
const base = 1 << 10

// update makes the sum of the reader's bytes current.
func (c *conn) update() {
	n := base + c.halves[0].size() + c.halves[1].size()
	c.reader.bytes += n - c.size
	c.size = n
}

// note reports something about the connection.
func (c *conn) note(at int64, text string) {
	caller := 0 // by the ports, if nothing else is known
	if c.key.ends[0].Port() < c.key.ends[1].Port() {
		caller = 1
	}
	c.reader.handler.Note(Note{Time: at, Connection: c.named(caller), Text: text})
}

// named returns the connection for events. caller is the index of the client, unless the set-up of
// the connection has shown it.
func (c *conn) named(caller int) *Connection {
	if c.public == nil {
		if c.opened {
			caller = c.opener
		}
		c.reader.count++
		c.public = &Connection{Number: c.reader.count, Carrier: c.carrier, Client: c.key.ends[caller], Server: c.key.ends[1-caller]}
	}
	if c.public.Carrier == "" {
		c.public.Carrier = c.carrier
	}
	return c.public
}

// open notes which end opened the connection.
func (c *conn) open(end int) { c.opened, c.opener = true, end }

// reverse reports whether an end is not the client.
func (c *conn) reverse(end int) bool { return c.public.Client != c.key.ends[end] }

// segment takes a TCP segment from one end.
func (c *conn) segment(from int, d *packets.Datagram) {
	h, o := &c.halves[from], &c.halves[1-from]
	if d.SYN {
		if h.stream.Begins(d.Seq) {
			h.end(d.Time)
			h.lose()
			if !d.HasAck { // another connection between the same ports
				o.end(d.Time)
				o.lose()
				c.carrier, c.public = "", nil
				c.open(from)
			}
			h.stream.Start(d.Seq)
		}
		d.Seq++
	}
	if d.HasAck {
		o.stream.Ack(d.Ack)
	}
	h.stream.Segment(d.Time, d.Seq, d.Payload, d.Missing, h)
}

// datagram takes a UDP datagram from one end.
func (c *conn) datagram(from int, d *packets.Datagram) {
	c.carrier = UDP
	if d.Missing > 0 {
		c.note(d.Time, "a datagram that the capture has cut")
	}
	c.rpc(&c.halves[from], Span{d.Time, d.Time}, append([]byte(nil), d.Payload...))
}

// end passes on what waits for missing segments, and reports the calls without a reply.
func (h *half) end(at int64) {
	h.stream.End(at, h)
	for c := range h.calls.all() {
		h.conn.emit(h, c)
	}
	h.calls = calls{}
	h.memory, h.reads = memory{}, nil
}

// end finishes the connection.
func (c *conn) end() {
	// Replies that wait for missing segments come before calls are reported as unanswered.
	for i := range c.halves {
		c.halves[i].stream.End(c.last, &c.halves[i])
	}
	for i := range c.halves {
		c.halves[i].end(c.last)
	}
}
