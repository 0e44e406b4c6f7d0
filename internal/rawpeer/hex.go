package rawpeer

import (
	"encoding/binary"
	"fmt"
)

// Words returns a message of words.
func Words(w ...uint32) (b []byte) {
	for _, v := range w {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// NullCall returns a small Call that asks for credits, with a read list of one segment if pull is
// set.
func NullCall(xid, credits uint32, pull bool) []byte {
	w := []uint32{xid, 1, credits, 0}
	if pull {
		w = append(w, 1, 40, 0x1234, 1000, 0, 0)
	}
	w = append(w, 0, 0, 0, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
	return Words(w...)
}

// GoodCall is an RPC Call of 40 bytes with the XID of Head, in hexadecimal.
const GoodCall = " cafe0001 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000"

// Head begins a header of version 1 that asks for 32 credits: all but the procedure.
const Head = "cafe0001 00000001 00000020 "

// ReadSegment returns an element of a read list with its presence word.
func ReadSegment(pos uint32, key string, n uint32, at string) string {
	return fmt.Sprintf("00000001 %08x %s %08x %s ", pos, key, n, at)
}

// Msg returns an RDMA_MSG with a read list and a good Call.
func Msg(reads string) string {
	return Head + "00000000 " + reads + "00000000 00000000 00000000" + GoodCall
}

// Nomsg returns an RDMA_NOMSG with a read list.
func Nomsg(reads string) string { return Head + "00000001 " + reads + "00000000 00000000 00000000" }
