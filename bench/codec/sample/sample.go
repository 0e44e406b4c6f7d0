// Package sample makes the four messages that codecs are measured on.
package sample

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

// Wire sizes in bytes of the messages with one size.
const (
	SizeA = 92
	SizeB = 700
	SizeD = 21228
)

// A is an RDMA_MSG header with one read segment and one write chunk of two.
func A() *hand.Header { return header(1, 1, 2) }

// B is an RDMA_MSG header with 16 read segments and 4 write chunks of 4.
func B() *hand.Header { return header(16, 4, 4) }

// C is one opaque of n bytes.
func C(n int) *hand.Opaque {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return &hand.Opaque{Data: b}
}

// D is a listing of 128 entries, names of 8 to 23 bytes, handles of 28.
func D() *hand.Dirplus {
	d := &hand.Dirplus{
		Status:   hand.OK,
		DirAttr:  hand.OptAttr{Present: true, Attr: attr(0)},
		Verifier: [8]byte{1, 2, 3, 4, 5, 6, 7, 8},
		EOF:      true,
	}
	for i := range 128 {
		name := make([]byte, 8+i%16)
		for j := range name {
			name[j] = 'a' + byte((i+j)%26)
		}
		handle := make([]byte, 28)
		for j := range handle {
			handle[j] = byte(i*3 + j)
		}
		d.Entries = append(d.Entries, hand.Entry{
			ID:        1<<40 + uint64(i),
			Name:      name,
			Cookie:    uint64(i + 1),
			Attr:      hand.OptAttr{Present: true, Attr: attr(uint32(i))},
			HasHandle: true,
			Handle:    handle,
		})
	}
	return d
}

func header(reads, writes, segments int) *hand.Header {
	h := &hand.Header{XID: 0x11223344, Vers: 1, Credit: 32, Proc: hand.Msg}
	for i := range reads {
		h.Lists.Reads = append(h.Lists.Reads, hand.ReadChunk{Position: uint32(128 + 4*i), Target: segment(i)})
	}
	for i := range writes {
		var w hand.WriteChunk
		for j := range segments {
			w.Target = append(w.Target, segment(100*(i+1)+j))
		}
		h.Lists.Writes = append(h.Lists.Writes, w)
	}
	return h
}

func segment(i int) hand.Segment {
	return hand.Segment{Handle: 0xA0000000 + uint32(i), Length: 4096 + uint32(i), Offset: 0x7F00_0000_0000 + uint64(i)<<12}
}

func attr(i uint32) hand.Attr {
	n := uint64(i)
	return hand.Attr{
		Type: hand.File + hand.FileType(i%7), Mode: 0o644, Links: 1 + i%3, Owner: 1000 + i, Group: 100,
		FileSize: 1<<33 + n, Used: 4096 * (1 + n), Device: hand.Device{Major: 8, Minor: i},
		Volume: 0x0102030405060708, ID: 1<<40 + n,
		Accessed: hand.Time{Seconds: 1700000000 + i, Nanoseconds: 1},
		Modified: hand.Time{Seconds: 1700000001 + i, Nanoseconds: 2},
		Changed:  hand.Time{Seconds: 1700000002 + i, Nanoseconds: 3},
	}
}
