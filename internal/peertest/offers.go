package peertest

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// Length returns the bytes of a chunk.
func Length(list []Segment) (n int) {
	for _, s := range list {
		n += int(s.Length)
	}
	return n
}

// Offers is the header of a Call with its lists (RFC 8166 §4.1), and the bytes after it.
type Offers struct {
	Proc     uint32
	Reads    []Segment
	Writes   [][]Segment
	Reply    []Segment
	HasReply bool
	Rest     []byte
}

// ReadOffers reads the header of a Call.
func ReadOffers(t *testing.T, b []byte) (o Offers) {
	t.Helper()
	at := 12
	word := func() (v uint32) {
		if at+4 > len(b) {
			t.Fatalf("%x ends in its header", b)
		}
		v = binary.BigEndian.Uint32(b[at:])
		at += 4
		return v
	}
	seg := func() (s Segment) {
		s.Key, s.Length = word(), word()
		s.Addr = uint64(word()) << 32
		s.Addr |= uint64(word())
		return s
	}
	segs := func() (list []Segment) {
		for range word() {
			list = append(list, seg())
		}
		return list
	}
	for o.Proc = word(); word() == 1; {
		pos := word()
		s := seg()
		s.Position = pos
		o.Reads = append(o.Reads, s)
	}
	for word() == 1 {
		o.Writes = append(o.Writes, segs())
	}
	if o.HasReply = word() == 1; o.HasReply {
		o.Reply = segs()
	}
	o.Rest = b[at:]
	return o
}

// UnusedReply is a Reply by RDMA_MSG that returns what a Call offered unused.
func UnusedReply(call []byte, o *Offers, rpc []byte) []byte {
	b := append(bytes.Clone(call[:8]), 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0)
	add := func(v ...uint32) {
		for _, v := range v {
			b = binary.BigEndian.AppendUint32(b, v)
		}
	}
	segs := func(list []Segment) {
		add(1, uint32(len(list)))
		for _, s := range list {
			add(s.Key, 0, uint32(s.Addr>>32), uint32(s.Addr))
		}
	}
	for _, c := range o.Writes {
		segs(c)
	}
	add(0)
	if o.HasReply {
		segs(o.Reply)
	} else {
		add(0)
	}
	return append(b, rpc...)
}
