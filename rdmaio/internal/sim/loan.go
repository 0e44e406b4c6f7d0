package sim

import "github.com/rpcrdma/rpcrdma/rdmaio/verbs"

// loan is memory that the provider of an end lends for a message.
type loan struct {
	e     *end
	bytes []byte
}

// lend returns a loan of n bytes, with the message b.
func (e *end) lend(b []byte) *loan {
	e.loans++
	return &loan{e, append([]byte(nil), b...)}
}

func (l *loan) Bytes() []byte { return l.bytes }

func (l *loan) Return() {
	copy(l.bytes, poisoned(len(l.bytes))) // a later use is found
	if l.e.loans--; l.bytes == nil {
		l.e.w.fail("%s returns a loan twice", l.e.name)
	}
	l.bytes = nil
}

// received returns the bytes of a message.
func (e *end) received(wc *verbs.WC) []byte {
	if wc.Loan != nil {
		return wc.Loan.Bytes()
	}
	return e.recv[wc.WRID].bytes[:wc.ByteLen]
}
