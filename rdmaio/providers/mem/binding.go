package mem

import (
	"crypto/rand"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// bindingType is the kind of channel binding that this package has. Each connection has its own
// binding, which the network chooses when it connects two queue pairs. In tests it stands for a
// protected channel, because a relay between two connections cannot make their bindings equal.
const bindingType = "rpcrdma-mem"

// newBinding returns the data of a binding that no other connection has.
func newBinding() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return b
}

var _ verbs.ChannelBinder = (*queuePair)(nil)

// ChannelBinding implements verbs.ChannelBinder.
func (q *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	l := q.lock()
	defer l.Unlock()
	if q.binding == nil {
		return verbs.ChannelBinding{}, fmt.Errorf("mem: queue pair %d is not connected: %w", q.Num(), verbs.ErrInvalidState)
	}
	return verbs.ChannelBinding{Type: bindingType, Data: append([]byte(nil), q.binding...)}, nil
}
