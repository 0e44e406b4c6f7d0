package text

import (
	"encoding/binary"
	"math"
	"testing"
	"unicode/utf8"
)

// maker makes values of the test's types from bytes: nil pointers, arms that are not selected,
// discriminants without an arm, slices that share memory, cycles.
type maker struct {
	in    []byte
	nodes []*node
}

func (m *maker) next() int {
	if len(m.in) == 0 {
		return 0
	}
	n := m.in[0]
	m.in = m.in[1:]
	return int(n)
}

func (m *maker) word() uint32 {
	n := min(4, len(m.in))
	var b [4]byte
	copy(b[:], m.in[:n])
	m.in = m.in[n:]
	return binary.BigEndian.Uint32(b[:])
}

func (m *maker) bytes() []byte {
	n := min(m.next(), len(m.in))
	b := m.in[:n]
	m.in = m.in[n:]
	return b
}

// node returns a node, one that it returned before, or nil.
func (m *maker) node() *node {
	switch k := m.next(); {
	case len(m.in) == 0, k%5 == 0:
		return nil
	case k%5 == 1 && len(m.nodes) > 0:
		return m.nodes[k%len(m.nodes)]
	}
	n := &node{Data: m.bytes()}
	m.nodes = append(m.nodes, n)
	n.Next = m.node()
	for range m.next() % 12 {
		if e := m.node(); e != nil {
			n.All = append(n.All, *e)
		}
	}
	n.Some = optional[*node]{m.node(), m.next()%2 == 0}
	return n
}

func (m *maker) reply() *reply {
	r := &reply{Status: stat(int32(m.next()) - 2), Data: m.bytes(), Late: optional[int32]{int32(m.word()), m.next()%2 == 0}}
	if m.next()%2 == 0 {
		r.Large = m.all()
	}
	if len(m.in) > 0 && m.next()%2 == 0 {
		r.Next = m.reply()
	}
	return r
}

func (m *maker) all() *all {
	a := &all{
		Yes: m.next()%2 == 0, Int: int32(m.word()), Uhyper: uint64(m.word()) << 32,
		Float: math.Float32frombits(m.word()), Double: math.Float64frombits(uint64(m.word())<<32 | uint64(m.word())),
	}
	for range m.next() {
		a.Names = append(a.Names, m.bytes())
	}
	a.Pairs[0] = make([]uint32, m.next())
	a.Maybe = optional[optional[[]byte]]{optional[[]byte]{m.bytes(), m.next()%2 == 0}, m.next()%2 == 0}
	if m.next()%2 == 0 {
		n := int32(m.word())
		at := &n
		a.Pointer = &at
	}
	return a
}

// FuzzString prints values that no decoder makes. The text must be a line of valid UTF-8 within the
// limit.
func FuzzString(f *testing.F) {
	f.Add([]byte{}, "node")
	f.Add([]byte("\x02\x04abcd\x02\x01x\x01\x01\x00\x01\x01\x02\x03\xff\xff\xfe"), "node,string")
	f.Add([]byte("\x05\xff\xff\xff\xff\x7f\xc0\x00\x01\x08abcdefgh\x02\x00\x01"), "a,switch,case=1")
	f.Fuzz(func(t *testing.T, in []byte, tag string) {
		m := &maker{in: in}
		node, reply, all := m.node(), (&maker{in: in}).reply(), (&maker{in: in}).all()
		number := kind{Kind: (&maker{in: in}).word()}
		for _, v := range []any{node, &node, reply, *reply, all, &all.Names, &in, &number, &flag{len(in) > 0, in}} {
			s := String(v, tag)
			if len(s) > maxText || !utf8.ValidString(tag+s) != !utf8.ValidString(tag) {
				t.Errorf("%d bytes: %q", len(s), s)
			}
		}
	})
}
