package stream

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// protectionDomain implements verbs.ProtectionDomain.
type protectionDomain struct {
	*soft.Domain
	dev *Device
}

// CreateQP implements verbs.ProtectionDomain.
func (pd *protectionDomain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	q := newQueuePair(pd.dev)
	if err := q.Configure(pd.Domain, pd.dev.numbers.Add(1), cfg); err != nil {
		return nil, err
	}
	if err := q.Register(q); err != nil {
		return nil, err
	}
	return q, nil
}
