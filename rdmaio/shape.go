package rdmaio

import (
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// shape changes the message of a Call that is sent again, because the peer has refused it with an
// error of version 2 that says what it takes instead
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3). The zero shape changes nothing.
type shape struct {
	resent  uint8 // number of times that it was sent again
	long    bool  // the whole message by read chunk, items too
	inline  bool  // only the first results of Results go by chunk
	guessed bool  // the reply chunk may be too short
	whole   bool  // it is as long as the Call allows
	results int32 // how many results go by chunk, with inline
	reply   int   // least length of the reply chunk, bytes; 0: as without an error
	segment int   // least length of the longest segment, bytes
}

// mostResults returns the largest number of results that go by chunk.
func (sh *shape) mostResults() int {
	if sh.inline {
		return int(sh.results)
	}
	return math.MaxInt
}

// keep lets only the first n results go by chunk.
func (sh *shape) keep(n int, l *header.Lists) {
	if n < len(l.Writes) {
		sh.inline, sh.results = true, int32(n)
	}
}

// replySize returns the size of the largest reply with the results that do not go by chunk. The
// peer said that one of these needs more bytes.
func (sh *shape) replySize(call *Call, more int) int {
	n := max(call.MaxReply, len(call.ReplyBuf)) + more
	for i := min(sh.mostResults(), len(call.Results)); i < len(call.Results); i++ {
		n += len(call.Results[i])
	}
	return n
}

// bounded returns a number of the peer as an int, which it may exceed on 32-bit systems.
func bounded(n uint32) int { return int(min(n, math.MaxInt32)) }
