package engine

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// sendQueue posts chains of work requests and counts the entries of the send queue that they use.
// Both directions share it.
type sendQueue struct {
	*shared
	buffers    sendBuffers
	filled     int            // entries in use, or not known to be free
	lastTicket uint64         // the last one given out
	seq        uint64         // of the last chain
	chains     queue[chain]   // posted, oldest first
	last       int            // in Effects.Sends, of a chain without a Request; or none
	awaited    int            // chains for whose completion a Request waits
	sges       []verbs.SGE    // of Effects.Sends
	out        header.Message // of our Calls and RDMA_DONE, while it is encoded
	sequence   sequence       // being sent
	noLists    header.Lists   // empty, of Calls without chunks
}

// chain is work requests that are posted together. The last one is signaled, and its completion
// completes the chain. A quiet chain has no signaled request: the completion of the next chain
// completes it, too.
type chain struct {
	id       uint64
	wrs      int
	quiet    bool
	buf      *Buffer       // in use, or nil
	req      *Request      // waits for the completion, or nil
	deadline time.Duration // for its completion
	limit    time.Duration // the time that it had until the deadline; 0: there is no deadline
}

// lists returns the chunks that a Call offers, for reading.
func (sq *sendQueue) lists(c *Call) *header.Lists {
	if c.Offer == nil {
		return &sq.noLists
	}
	return &c.Lists
}

// reset begins a Step.
func (sq *sendQueue) reset() {
	empty(&sq.sges)
	sq.last = none
}

// nextTicket returns the next place in the queue for send queue entries.
func (sq *sendQueue) nextTicket() uint64 {
	sq.lastTicket++
	return sq.lastTicket
}

// room reports whether a chain of n requests can be posted. With message it needs a free send
// buffer, too.
func (sq *sendQueue) room(n int, message bool) bool {
	return sq.filled+n <= sq.cfg.SendWRs && (!message || len(sq.buffers.free) > 0)
}

// begin opens a chain of n requests and returns its id. r is the Request that waits for its
// completion, or nil. If this Step has posted another chain just before, for which no Request
// waits, that one becomes quiet: completions of a send queue come in post order, so this chain's
// stands for both.
func (sq *sendQueue) begin(n int, buf *Buffer, r *Request) uint64 {
	sq.seq++
	sq.stats.Used = sq.now
	if sq.last != none {
		sq.eff.Sends[sq.last].Flags &^= verbs.SendSignaled
		sq.chains.at(sq.chains.len() - 1).quiet = true
	}
	sq.last = len(sq.eff.Sends) + n - 1
	if r != nil {
		sq.last = none
		sq.awaited++
	}
	sq.filled += n
	sq.chains.push(chain{id: sq.seq, wrs: n, buf: buf, req: r, deadline: sq.now + sq.cfg.ChainTimeout, limit: sq.cfg.ChainTimeout})
	return sq.seq
}

// add appends one request to Effects.Sends.
func (sq *sendQueue) add(wr verbs.SendWR, sge verbs.SGE) {
	sq.sges = append(sq.sges, sge)
	k := len(sq.sges)
	wr.SGL = sq.sges[k-1 : k : k]
	sq.eff.Sends = append(sq.eff.Sends, wr)
}

// write posts the next n Writes of an answer, before the Writes that go with its Send.
func (sq *sendQueue) write(r *Request, n int) {
	sq.addWrites(sq.begin(n, nil, nil), r, n)
	sq.eff.Sends[len(sq.eff.Sends)-1].Flags |= verbs.SendSignaled
}

// addWrites adds the next n Writes of an answer to the chain with this id.
func (sq *sendQueue) addWrites(id uint64, r *Request, n int) {
	for i := range n {
		t := &r.transfers[r.written+i]
		sq.add(verbs.SendWR{WRID: id, Opcode: verbs.RDMAWrite, RKey: t.remote.Handle, RemoteAddr: t.remote.Offset}, t.sge)
	}
	r.written += n
}

// post posts a chain of one Send, of the n bytes in buf, for which no Request waits.
func (sq *sendQueue) post(buf *Buffer, n int) {
	sq.stats.Sent++
	id := sq.begin(1, buf, nil)
	sq.add(verbs.SendWR{WRID: id, Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited}, buf.sge(n))
}

// probe posts a Write of no bytes, which needs no key. It goes to the peer's end, and the queue
// pair fails if that is gone. If the send queue is full, the work in it does the same. The
// connection is closed if that has not completed within the limit. Chains complete in their order,
// so the limit holds for all that were posted before.
func (sq *sendQueue) probe(limit *Control) {
	if !sq.open {
		return
	}
	if sq.room(1, false) {
		id := sq.begin(1, nil, nil)
		sq.eff.Sends = append(sq.eff.Sends, verbs.SendWR{WRID: id, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
	}
	for i := range sq.chains.len() {
		c := sq.chains.at(i)
		if limit != nil && (c.limit == 0 || sq.now+limit.Limit < c.deadline) {
			c.limit, c.deadline = limit.Limit, sq.now+limit.Limit
		}
	}
}

// size returns the length of a message with these chunk lists.
func (sq *sendQueue) size(l *header.Lists, payload [][]byte) int {
	n := sq.version.Overhead(l)
	for _, p := range payload {
		n += len(p)
	}
	return n
}

// fits reports whether a message, of a kind with chunk lists, goes behind those in the open send
// buffer.
func (sq *sendQueue) fits(kind header.Kind, l *header.Lists, payload [][]byte) bool {
	most := min(sq.buffers.rest(), sq.terms.Send)
	return most > 0 && (kind == header.KindMsg || kind == header.KindNomsg) && sq.size(l, payload) <= most
}

// message encodes a header and the payload into a send buffer: the open one if it fits there, or a
// free one. It returns the buffer and the length of the message, or an error if it is too long for
// a Send.
func (sq *sendQueue) message(m *header.Message, payload [][]byte) (buf *Buffer, n int, err error) {
	if buf = sq.buffers.open; !sq.fits(m.Kind, &m.Lists, payload) {
		buf = sq.buffers.last()
	}
	mem := buf.Bytes[buf.end:]
	// RFC 8166 §3.3.2, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.2: header and payload; R37, R44
	mem = mem[:min(len(mem), sq.terms.Send)]
	// RFC 8166 §3.2: every Send has a header; R13
	b, err := sq.version.Append(mem[:0:len(mem)], m)
	if err != nil {
		return nil, 0, err
	}
	n = len(b)
	for _, p := range payload {
		if len(p) > len(mem)-n { // R33, R37
			return nil, 0, &SizeError{Need: n + len(p), Limit: len(mem)}
		}
		n += copy(mem[n:], p)
	}
	sq.buffers.take(buf, n)
	return buf, n, nil
}

// grant counts the message in buf, which is about to be sent, and sets its credit value. want is
// the credit value of the message that it answers.
func (sq *sendQueue) grant(buf *Buffer, class protocol.Class, want uint32) {
	header.SetCredit(buf.last(), sq.account.Sent(class, want))
}

// sent handles the completion of a chain, and returns the Request that waited for it, or nil. The
// completions of a send queue come in post order, so it is the oldest chain that is not quiet. No
// Request waits for a quiet one.
func (sq *sendQueue) sent(wc *verbs.WC) *Request {
	for sq.chains.len() > 0 && sq.chains.at(0).quiet {
		sq.finishChain(sq.chains.pop())
	}
	if sq.chains.len() == 0 || sq.chains.at(0).id != wc.WRID {
		sq.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("completion of chain %d is out of order", wc.WRID)})
		return nil
	}
	return sq.finishChain(sq.chains.pop())
}

// finishChain frees the resources of a completed chain, and returns the Request that waited for it.
func (sq *sendQueue) finishChain(c chain) *Request {
	sq.filled -= c.wrs
	if c.buf != nil {
		sq.buffers.put(c.buf)
	}
	if c.req != nil {
		sq.awaited--
	}
	return c.req
}

// waiter returns the Request that waits for the chain with this id, or nil.
func (sq *sendQueue) waiter(id uint64) *Request {
	for i := range sq.chains.len() {
		if c := sq.chains.at(i); c.id == id {
			return c.req
		}
	}
	return nil
}

// timer returns unused buffers, and closes the connection if a chain is late.
func (sq *sendQueue) timer() {
	sq.shrinkBuffers()
	trim(&sq.sges)
	if !sq.open || sq.chains.len() == 0 {
		return
	}
	c, detail := sq.chains.at(0), "%v"
	if c.limit != sq.cfg.ChainTimeout {
		detail = "the peer's end has not answered a probe within %v"
	}
	if c.limit > 0 && c.deadline <= sq.now {
		sq.end(&Error{Reason: ErrTimeout, Detail: fmt.Sprintf(detail, c.limit)})
	}
}

// setDeadline requests an EventTimer for the oldest chain, and for unused buffers.
func (sq *sendQueue) setDeadline() {
	if sq.chains.len() > 0 && sq.chains.at(0).limit > 0 {
		sq.wake(sq.chains.at(0).deadline)
	}
	if sq.buffers.borrowed > 0 {
		sq.wake(sq.buffers.shrinkAt)
	}
}

// abandon empties the queue when the connection is closed. It returns the Requests that waited for
// chains, in post order.
func (sq *sendQueue) abandon() (waiters []*Request) {
	sq.returnBuffers()
	for sq.chains.len() > 0 {
		if c := sq.chains.pop(); c.req != nil {
			waiters = append(waiters, c.req)
		}
	}
	sq.filled, sq.awaited = 0, 0
	return waiters
}

// wantBuffers asks for buffers for the n messages that wait for nothing else.
func (sq *sendQueue) wantBuffers(n int) {
	s := &sq.buffers
	if len(s.free) > 0 || s.asked || s.dry || s.borrowed == sq.cfg.MaxBorrowed {
		return
	}
	s.asked = true
	sq.eff.WantBuffers = min(n, sq.cfg.MaxBorrowed-s.borrowed)
}

// addBuffers takes what EventBuffers brings. Without memory a message waits for a buffer that is in
// use. There is one, because otherwise the message would not wait.
func (sq *sendQueue) addBuffers(list []*Buffer) {
	s := &sq.buffers
	s.asked = false
	if !sq.open {
		sq.eff.Return = append(sq.eff.Return, list...)
		return
	}
	if s.dry = len(list) == 0 && len(s.free) == 0; s.borrowed == 0 {
		s.shrinkAt = sq.now + shrinkInterval
	}
	for _, b := range list {
		b.borrowed = true
		s.free = append(s.free, b)
	}
	s.borrowed += len(list)
}

// shrinkBuffers returns the borrowed buffers that were not in use at any time since its last run.
func (sq *sendQueue) shrinkBuffers() {
	s := &sq.buffers
	if s.borrowed == 0 || sq.now < s.shrinkAt {
		return
	}
	spare := s.own + s.borrowed - max(s.own, s.most)
	kept := s.free[:0]
	for _, b := range s.free {
		if b.borrowed && spare > 0 {
			spare--
			s.borrowed--
			sq.eff.Return = append(sq.eff.Return, b)
			continue
		}
		kept = append(kept, b)
	}
	clear(s.free[len(kept):])
	s.free = kept
	s.most, s.shrinkAt = s.used(), sq.now+shrinkInterval
}

// returnBuffers returns all borrowed buffers when the connection is gone.
func (sq *sendQueue) returnBuffers() {
	for i := range sq.chains.len() {
		if b := sq.chains.at(i).buf; b != nil {
			sq.buffers.put(b)
		}
	}
	for _, b := range sq.buffers.free {
		if b.borrowed {
			sq.eff.Return = append(sq.eff.Return, b)
		}
	}
	sq.buffers = sendBuffers{}
}

// shrinkInterval is the time after which unused borrowed send buffers are returned.
const shrinkInterval = time.Second
