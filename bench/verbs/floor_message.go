package verbs

import (
	"encoding/binary"
	"fmt"
)

// The floor calls the program of package transport: its messages have the same octets as those of
// rdmaio, and each end works with the other end of rdmaio.
const (
	floorProgram = 0x20200051
	procEcho     = 1 // the arguments are the results
	procSink     = 2 // opaque<>; returns the number of octets
	procFill     = 3 // a number of octets; returns opaque<>
	procSum      = 4 // opaque<>; returns its CRC
)

// Lengths of headers: of RPC-over-RDMA version 1 with empty lists (RFC 8166 §4.2) and with one
// segment, and of RPC without credentials (RFC 5531 §9).
const (
	rdmaHead  = 28
	chunkHead = 24
	callHead  = 40
	replyHead = 24
)

// remote is a segment of a chunk; without one, handle is 0.
type remote struct {
	handle, length uint32
	offset         uint64
}

// floorHeader is the header of an RDMA_MSG with at most one segment in the read list or the write
// list and without reply chunk. The messages of the program have no other.
type floorHeader struct {
	xid, credits uint32
	position     uint32 // of read
	read, write  remote
}

func appendWords(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func (h *floorHeader) append(b []byte) []byte {
	b = appendWords(b, h.xid, 1, h.credits, 0)
	if r := h.read; r.handle != 0 {
		b = appendWords(b, 1, h.position, r.handle, r.length, uint32(r.offset>>32), uint32(r.offset))
	}
	b = appendWords(b, 0)
	if w := h.write; w.handle != 0 {
		b = appendWords(b, 1, 1, w.handle, w.length, uint32(w.offset>>32), uint32(w.offset))
	}
	return appendWords(b, 0, 0)
}

func parseRemote(b []byte) remote {
	return remote{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint64(b[8:])}
}

// parse reads a header and returns what follows it.
func (h *floorHeader) parse(b []byte) ([]byte, error) {
	if len(b) < rdmaHead {
		return nil, fmt.Errorf("found a message of %d octets, expected at least %d", len(b), rdmaHead)
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	if word(1) != 1 || word(3) != 0 {
		return nil, fmt.Errorf("found a message of type %d in version %d, expected RDMA_MSG, 0, in version 1", word(3), word(1))
	}
	*h = floorHeader{xid: word(0), credits: word(2)}
	b = b[16:]
	if word(0) == 1 && len(b) >= chunkHead+12 {
		h.position, h.read, b = word(1), parseRemote(b[8:]), b[chunkHead:]
	}
	reads := word(0)
	b = b[4:]
	if word(0) == 1 && word(1) == 1 && len(b) >= chunkHead+8 {
		h.write, b = parseRemote(b[8:]), b[chunkHead:]
	}
	if reads != 0 || word(0) != 0 || word(1) != 0 {
		return nil, fmt.Errorf("found chunk lists that go on with %#x, %#x, %#x, expected at most one segment a list and no reply chunk", reads, word(0), word(1))
	}
	return b[8:], nil
}

// appendCall appends the RPC header of a Call, and its first argument if it is a number.
func appendCall(b []byte, xid, proc uint32, number ...uint32) []byte {
	return appendWords(appendWords(b, xid, 0, 2, floorProgram, 1, proc, 0, 0, 0, 0), number...)
}

// appendReply appends the header of a successful RPC reply, and its first result if it is a number.
func appendReply(b []byte, xid uint32, number ...uint32) []byte {
	return appendWords(appendWords(b, xid, 1, 0, 0, 0, 0), number...)
}

// Pattern returns n octets in which no two pages are equal.
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}
