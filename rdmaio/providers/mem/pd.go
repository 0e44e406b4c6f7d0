package mem

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// protectionDomain implements verbs.ProtectionDomain.
type protectionDomain struct {
	*soft.Domain
	dev *device
}

// CreateQP implements verbs.ProtectionDomain.
func (pd *protectionDomain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	q := &queuePair{dev: pd.dev, abort: make(chan struct{})}
	if err := q.Configure(pd.Domain, pd.dev.net.numbers.Add(1), cfg); err != nil {
		return nil, err
	}
	q.scratch = make(soft.List, 0, q.Cfg.MaxSendSGE)
	q.rq = make([]recv, q.Cfg.MaxRecvWR)
	q.link.Store(&link{number: q.Num()})
	elements := make(soft.List, q.Cfg.MaxRecvWR*q.Cfg.MaxRecvSGE)
	for i := range q.rq {
		at := i * q.Cfg.MaxRecvSGE
		q.rq[i].sgl = elements[at : at : at+q.Cfg.MaxRecvSGE]
	}
	if err := q.Register(q); err != nil {
		return nil, err
	}
	return q, nil
}
