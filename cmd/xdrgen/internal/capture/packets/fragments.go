package packets

import (
	"net/netip"
	"slices"
)

// Limits on the IP packets whose fragments are kept. The oldest is forgotten for a new one.
const (
	maxFragmented = 64
	maxFragments  = 256 // of a packet; an Ethernet needs 45 for the longest
	maxDatagram   = 1 << 16
)

// fragmentKey is the same in all fragments of an IP packet.
type fragmentKey struct {
	from, to netip.Addr
	id       uint32
	protocol uint8
}

// fragments puts IP packets together.
type fragments struct{ open []fragmented }

// fragmented is an IP packet with missing fragments.
type fragmented struct {
	key   fragmentKey
	parts []part // sorted by offset, without overlap
	total int    // length of the packet; -1 until the last fragment has come
}

// part is the payload of a fragment.
type part struct {
	at   int
	data []byte
}

// add adds a fragment, and returns the payload of its packet if it is whole. Bytes that came before
// are kept if a later fragment has them as well.
func (f *fragments) add(key fragmentKey, at int, last bool, data []byte, missing int) ([]byte, bool) {
	if missing > 0 || at+len(data) > maxDatagram {
		return nil, false
	}
	i := slices.IndexFunc(f.open, func(o fragmented) bool { return o.key == key })
	if i < 0 {
		if len(f.open) == maxFragmented {
			f.open = slices.Delete(f.open, 0, 1)
		}
		f.open = append(f.open, fragmented{key: key, total: -1})
		i = len(f.open) - 1
	}
	o := &f.open[i]
	if last {
		o.total = at + len(data)
	}
	if len(o.parts) < maxFragments {
		o.insert(at, data)
	}
	whole, ok := o.whole()
	if ok {
		f.open = slices.Delete(f.open, i, i+1)
	}
	return whole, ok
}

// insert adds the bytes that the packet does not have.
func (o *fragmented) insert(at int, data []byte) {
	i := 0
	for ; i < len(o.parts) && len(data) > 0; i++ {
		p := o.parts[i]
		if at < p.at {
			n := min(len(data), p.at-at)
			o.parts = slices.Insert(o.parts, i, part{at, slices.Clone(data[:n])})
			i++
			at, data = at+n, data[n:]
		}
		if end := p.at + len(p.data); at < end {
			n := min(len(data), end-at)
			at, data = at+n, data[n:]
		}
	}
	if len(data) > 0 {
		o.parts = append(o.parts, part{at, slices.Clone(data)})
	}
}

// whole returns the payload if nothing is missing.
func (o *fragmented) whole() ([]byte, bool) {
	end := 0
	for _, p := range o.parts {
		if p.at != end {
			return nil, false
		}
		end += len(p.data)
	}
	if end != o.total {
		return nil, false
	}
	out := make([]byte, 0, end)
	for _, p := range o.parts {
		out = append(out, p.data...)
	}
	return out, true
}
