package engine

import "github.com/rpcrdma/rpcrdma/rdmaio/verbs"

// source is the memory that has a received message, until the Request is released. It is at most
// one of four: its Receive, a loan of the provider, a copy, or the memory in which its parts were
// joined.
type source struct {
	recv   int        // index of its Receive, until that is posted again; then none
	loan   verbs.Loan // nil: the message is in Config.Recv, or in the following
	copy   []byte     // of a message whose Receive was needed
	joined []byte     // of a message that came in parts
}

// keep copies a message, so that its Receive can be posted again.
func (s *source) keep(message []byte) []byte {
	s.copy = append(s.copy[:0], message...)
	return s.copy
}

// reset forgets the message. The loan must have been returned. The memory for copies stays.
func (s *source) reset() { s.recv, s.copy, s.joined = none, s.copy[:0], nil }

// pulling counts the RDMA Reads that fill an Assembly. They are posted in batches.
type pulling struct {
	reads  int // all of them
	unread int // not posted
	batch  int // in readQueued or reading
	size   int // bytes of the batch
}

// queue takes the next batch: at most most of those that are unread, and at most room where there
// is a limit. It returns the number.
func (p *pulling) queue(most int, limited bool, room int) int {
	if p.batch = min(p.unread, most); limited {
		p.batch = min(p.batch, room)
	}
	return p.batch
}

// read completes a batch. It returns the length.
func (p *pulling) read() (size int) {
	size, p.size = p.size, 0
	return size
}

// none stands for no index.
const none = -1

// returnLoan returns a loan, if there is one.
func returnLoan(l *verbs.Loan) {
	if *l != nil {
		(*l).Return()
		*l = nil
	}
}
