package xdr

import "math"

// This file is the direct data placement hook (ADR 0001): generated encoders
// leave eligible items out of the stream and say where they belonged,
// generated decoders take them back. RFC 8166 §3.4, draft-ietf-nfsv4-rpcrdma-08 §3.4.

// Site is a place in a protocol that an upper-layer binding makes eligible
// for reduction: a field of one generated type. Generated packages export
// their sites as constants; the text is for messages.
type Site string

// Binding says at which procedure, and in which direction, a site is
// eligible. Generated packages list theirs in DDPBindings.
type Binding struct {
	Program, Version, Procedure uint32
	Reply                       bool   // a result, not an argument
	Path                        string // from the argument or result to the item
	Site                        Site
}

// Item is a data item that travels out of line.
type Item struct {
	Site Site
	// Position is where the item's first byte belongs in the unreduced
	// stream, counted from the first byte of the RPC message (R60).
	Position uint64
	// Inline is where it belongs in the reduced stream: the offset into
	// Encoder.Bytes of what follows it. Set by the encoder only.
	Inline int
	// Data is the item without its count and without padding. An opaque is the
	// caller's own slice, never a copy; an array is encoded into memory of its own.
	// A nil Data given to a decoder in order of results means: not used, the
	// item is inline.
	Data []byte
}

// Reduction says what an encoder leaves out of line.
type Reduction struct {
	Sites []Site // eligible on this call, and offered to the peer
	Min   int    // smaller items stay inline, bytes
}

// Reduce makes e leave eligible items out of line from here on. base is the
// position, in the RPC message, of the next byte that e will write; the
// items are in Items. A zero Reduction switches it off.
func (e *Encoder) Reduce(r Reduction, base uint64) {
	e.reduce = r
	e.base = base
	e.start = e.Off
	e.dropItems()
}

// Items returns the items left out of line since Reset or Reduce, in order of
// position; valid until either is called again.
func (e *Encoder) Items() []Item { return e.items }

// Reduces reports whether an item of n bytes at site s is to be left out of
// line. For generated code, where e may be nil.
func (e *Encoder) Reduces(s Site, n int) bool {
	return e != nil && len(e.reduce.Sites) != 0 && e.reduces(s, n)
}

func (e *Encoder) reduces(s Site, n int) bool {
	return n > 0 && n >= e.reduce.Min && has(e.reduce.Sites, s)
}

func has(sites []Site, s Site) bool {
	for _, t := range sites {
		if t == s {
			return true
		}
	}
	return false
}

// Leave records an item left out of line, whose bytes would have begun at
// offset off of the buffer. For generated code.
func (e *Encoder) Leave(s Site, off int, data []byte) {
	e.items = append(e.items, Item{
		Site:     s,
		Position: e.base + uint64(off-e.start) + e.removed,
		Inline:   off,
		Data:     data,
	})
	// R57: the roundup bytes leave the stream with the item.
	e.removed += uint64(Padded(len(data)))
}

// Gather returns the unreduced output as a list of slices that alternate
// between e's buffer and the items: what one writev sends over TCP. dst is
// appended to; pad bytes come from a static array.
func (e *Encoder) Gather(dst [][]byte) [][]byte {
	at := e.start
	for _, it := range e.items {
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

// matchMode says how a decoder finds the item that belongs at a site.
type matchMode uint8

const (
	matchNone matchMode = iota
	matchPosition
	matchInOrder
	matchPlaced
)

// placement is what a reader knows of items out of line.
type placement struct {
	chunks   []Item // still to be taken
	mode     matchMode
	sites    []Site // eligible ones, for matchInOrder
	base     uint64
	inserted uint64
	within   bool // reading the elements of an item
}

// ReinsertAt gives d the items of a Call, from its read chunks: an eligible
// item is out of line where the next one's Position is the stream's. base is the
// position, in the RPC message, of the next byte that d will read. Items must be
// in order of position.
func (d *Decoder) ReinsertAt(base uint64, items []Item) {
	d.reinsert(matchPosition, base, nil, items)
}

// ReinsertInOrder gives d the items of a Reply, from its write chunks, one for
// each eligible result in the order of the results (R77): write chunks carry
// no position. An item with nil Data was not used, its result is inline.
func (d *Decoder) ReinsertInOrder(sites []Site, items []Item) {
	d.reinsert(matchInOrder, 0, sites, items)
}

// ExpectAt tells d which items of a Call came by chunk where the transport has
// put them into the message already: at each Position an eligible item must begin
// that is as long as the chunk. The item decodes from the stream like any other.
func (d *Decoder) ExpectAt(base uint64, items []Item) {
	d.reinsert(matchPlaced, base, nil, items)
}

func (d *Decoder) reinsert(m matchMode, base uint64, sites []Site, items []Item) {
	d.placed = placement{chunks: items, mode: m, sites: sites, base: base - uint64(d.Off)}
	d.outside = 0
	if m != matchPlaced {
		for _, it := range items {
			d.outside += uint64(len(it.Data))
		}
	}
	d.used = true
}

// Reinserts reports whether an item may be out of line here. For generated code.
func (d *Decoder) Reinserts() bool { return len(d.placed.chunks) != 0 && !d.placed.within }

// Within tells d that it reads the elements of an array that came out of line,
// until it is told otherwise: eligible items in them came with the array. For
// generated code.
func (d *Decoder) Within(on bool) { d.placed.within = on }

// Take returns the item of n bytes that belongs at offset off of the input,
// and whether it is out of line. For generated code.
func (d *Decoder) Take(s Site, off, n int) ([]byte, bool, error) {
	data, ok, err := d.placed.take(s, off, n)
	if err != nil {
		return nil, false, err
	}
	return data, ok, nil
}

// TakeArray is Take for an array of n elements that take at least (or, where
// fixed, just) size bytes each. For generated code.
func (d *Decoder) TakeArray(s Site, off int, n uint32, size int, fixed bool) ([]byte, bool, error) {
	data, ok, err := d.placed.takeArray(s, off, n, size, fixed)
	if err != nil {
		return nil, false, err
	}
	return data, ok, nil
}

// Reinserts is that of the Decoder whose rules c keeps. For generated code.
func (c *Checker) Reinserts() bool {
	return c != nil && c.out != nil && len(c.out.chunks) != 0 && !c.out.within
}

// Within is that of the Decoder. For generated code.
func (c *Checker) Within(on bool) { c.out.within = on }

// Take is that of the Decoder. For generated code.
func (c *Checker) Take(s Site, off, n int) ([]byte, bool, *Error) { return c.out.take(s, off, n) }

// TakeArray is that of the Decoder. For generated code.
func (c *Checker) TakeArray(s Site, off int, n uint32, size int, fixed bool) ([]byte, bool, *Error) {
	return c.out.takeArray(s, off, n, size, fixed)
}

func (p *placement) take(s Site, off, n int) ([]byte, bool, *Error) {
	it := &p.chunks[0]
	switch p.mode {
	case matchPosition, matchPlaced:
		if it.Position != p.base+uint64(off)+p.inserted || n == 0 {
			return nil, false, nil
		}
	case matchInOrder:
		if !has(p.sites, s) {
			return nil, false, nil
		}
		if it.Data == nil {
			p.chunks = p.chunks[1:]
			return nil, false, nil
		}
	}
	// R53: the count in the stream and the chunk must agree. A peer of version 1
	// may have put the roundup bytes into the chunk (R70, R83).
	if len(it.Data) != n && len(it.Data) != Padded(n) {
		return nil, false, Fail(CodeChunk, off, uint64(len(it.Data)), uint64(n), "")
	}
	p.chunks = p.chunks[1:]
	if p.mode == matchPlaced {
		return nil, false, nil
	}
	p.inserted += uint64(Padded(n))
	return it.Data[:n:n], true, nil
}

func (p *placement) takeArray(s Site, off int, n uint32, size int, fixed bool) ([]byte, bool, *Error) {
	want := uint64(n) * uint64(size)
	it := &p.chunks[0]
	if got := uint64(len(it.Data)); !fixed && got > want {
		want = got
	}
	if want > uint64(len(it.Data)) && p.mode == matchPosition && it.Position != p.base+uint64(off)+p.inserted {
		return nil, false, nil
	}
	if want > math.MaxInt32 {
		want = math.MaxInt32 // no item is as large: refused as a mismatch
	}
	return p.take(s, off, int(want))
}

// done refuses items that no eligible place in the stream has taken.
func (p *placement) done(off int) error {
	for _, it := range p.chunks {
		if it.Data != nil {
			return Fail(CodeChunk, off, uint64(len(it.Data)), 0, "")
		}
	}
	return nil
}
