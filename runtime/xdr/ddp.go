package xdr

// This file is the direct data placement hook (ADR 0001): generated encoders
// leave eligible items out of the stream and record where they belong, and
// generated decoders take them back. RFC 8166 §3.4, draft-ietf-nfsv4-rpcrdma-08 §3.4.

// Site is a place in a protocol that an upper-layer binding makes eligible for reduction: a
// field of one generated type. Generated packages export their sites as constants. The text
// of a Site is for messages.
type Site string

// Binding says at which procedure, and in which direction, a site is eligible. DDPBindings of
// a generated package lists its bindings.
type Binding struct {
	Program, Version, Procedure uint32
	Reply                       bool   // the item is in the result, not in the argument
	Path                        string // from the argument or result to the item
	Site                        Site
}

// Item is a data item that travels out of line.
type Item struct {
	Site Site
	// Position is the offset of the item's first byte in the unreduced stream, counted from
	// the first byte of the RPC message (R60).
	Position uint64
	// Inline is the offset into Encoder.Bytes at which the item belongs. Only the encoder
	// sets it.
	Inline int
	// Data is the item without its count and without padding. An opaque is the caller's own
	// slice, never a copy; the elements of an array are encoded into separate memory. For
	// ReinsertInOrder, nil means that the chunk was not used: the item is inline.
	Data []byte
}

// Reduction says which items an encoder leaves out of line.
type Reduction struct {
	Sites []Site // eligible on this call, and offered to the peer
	Min   int    // smaller items stay inline, in bytes
}

// Reduce makes e leave eligible items out of line from now on; Items returns them. base is the
// position, in the RPC message, of the next byte that e will write. A zero Reduction switches
// this off.
func (e *Encoder) Reduce(r Reduction, base uint64) {
	e.Offered = r
	e.Base = base
	e.Start = e.Off
	e.dropItems()
}

// Items returns the items left out of line since Reset or Reduce, in order of position. The
// slice is valid until either is called again.
func (e *Encoder) Items() []Item { return e.Left }

// Gather appends the unreduced output to dst, as slices that alternate between e's buffer and
// the items. A single writev sends them over TCP. Padding comes from a static array.
func (e *Encoder) Gather(dst [][]byte) [][]byte {
	at := e.Start
	for _, it := range e.Left {
		if it.Inline > at {
			dst = append(dst, e.Buf[at:it.Inline])
			at = it.Inline
		}
		dst = append(dst, it.Data)
		if n := Padded(len(it.Data)) - len(it.Data); n > 0 {
			dst = append(dst, zeros[:n:n])
		}
	}
	if at < e.Off {
		dst = append(dst, e.Buf[at:e.Off])
	}
	return dst
}

var zeros [4]byte

// ReinsertAt gives d the items of a Call, from its read chunks, in order of position. An eligible
// item is out of line if its position is the next item's Position. base is the position, in the RPC
// message, of the next byte that d will read.
func (d *Decoder) ReinsertAt(base uint64, items []Item) {
	d.reinsert(placement{Items: items, Base: base - uint64(d.Off)})
}

// ReinsertInOrder gives d the items of a Reply, from its write chunks: one for each eligible
// result, in the order of the results (R77). Write chunks carry no position. If the Data of an
// item is nil, its chunk was not used and the result is inline.
func (d *Decoder) ReinsertInOrder(sites []Site, items []Item) {
	d.reinsert(placement{Items: items, InOrder: true, Sites: sites})
}

// PlaceInOrder is ReinsertInOrder with memory for the results that are inline. An eligible opaque
// result of item i is copied to the beginning of memory[i] if it fits, and the value points there,
// in both memory modes. The others are decoded as without memory. items has as many elements as
// memory, or more.
func (d *Decoder) PlaceInOrder(sites []Site, items []Item, memory [][]byte) {
	d.reinsert(placement{Items: items, InOrder: true, Sites: sites, Memory: memory})
}

// ExpectAt gives d the items of a Call that came by chunk, if the transport has already put them
// into the message. At each Position, an eligible item as long as the chunk must begin. d decodes
// these items from the stream like any other. base is the position, in the RPC message, of the next
// byte that d will read.
func (d *Decoder) ExpectAt(base uint64, items []Item) {
	d.reinsert(placement{Items: items, InStream: true, Base: base - uint64(d.Off)})
}

func (d *Decoder) reinsert(p placement) {
	d.Placed = p
	d.Outside = 0
	if !p.InStream {
		for _, it := range p.Items {
			d.Outside += uint64(len(it.Data))
		}
	}
	d.Used = true
}
