package engine

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/header"

// canContinue reports whether a message that does not fit one Send can be sent in parts.
func (sq *sendQueue) canContinue(m *header.Message, payload [][]byte) bool {
	return sq.version.Continues() && m.Kind == header.KindMsg && len(payload) > 0 &&
		sq.version.Overhead(&m.Lists) < min(len(sq.buffers.last().Bytes), sq.terms.Send)
}

// part encodes the next part into a send buffer. last reports whether it is the last one, which has
// the chunk lists (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.2, §4.5.3; R158, R164).
func (sq *sendQueue) part(s *sequence) (buf *Buffer, n int, last bool, err error) {
	buf = sq.buffers.last()
	mem := buf.Bytes[:min(len(buf.Bytes), sq.terms.Send)]
	m := &s.last
	last = sq.version.Overhead(&m.Lists)+s.left <= len(mem)
	if !last {
		m = &sq.out
		m.XID, m.Vers, m.Kind, m.Answer, m.More = s.last.XID, s.last.Vers, s.last.Kind, s.last.Answer, true
	}
	b, err := sq.version.Append(mem[:0:len(mem)], m)
	sq.out.Answer, sq.out.More = false, false
	if err != nil {
		return nil, 0, false, err
	}
	n = len(b)
	for len(s.payload) > 0 && n < len(mem) {
		k := copy(mem[n:], s.payload[0][s.done:])
		n, s.done, s.left = n+k, s.done+k, s.left-k
		if s.done < len(s.payload[0]) {
			break
		}
		s.payload, s.done = s.payload[1:], 0
	}
	sq.buffers.take(buf, n)
	sq.stats.PartsSent++
	return buf, n, last, nil
}
