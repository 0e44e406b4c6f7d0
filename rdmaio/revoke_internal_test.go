package rdmaio

import (
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// revoker is a queue pair whose callers handle messages. A revocation ends with the next call of
// Resume, as where the peer's acknowledgement comes in a message.
type revoker struct {
	verbs.QueuePair
	progresser
	report func(error)
}

func (r *revoker) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	if len(regions) == 0 { // asks whether the queue pair can do that
		return nil
	}
	r.calls = append(r.calls, "Revoke")
	r.report = done
	for _, mr := range regions {
		if err := mr.Invalidate(); err != nil {
			return err
		}
	}
	return nil
}

func (r *revoker) Resume() {
	r.progresser.Resume()
	r.report(nil)
}

// A caller that waits for a revocation handles no messages, so the provider must.
func TestRevocationResumesProvider(t *testing.T) {
	dev, err := mem.New(nil).Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	qp := &revoker{}
	c := &caller{host: &host{set: new(settings), pool: mrpool.New(pd, mrpool.Config{Heap: true})}}
	c.pool.UseQueuePair(qp)
	c.lone.qp = qp
	mr, err := c.pool.Register(make([]byte, 64), verbs.AccessRemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	s := newSlot()
	s.withOffered().regions = []callRegion{{Region: mr}}
	revoked := make(chan error, 1)
	go func() { revoked <- s.revoke(c) }()
	select {
	case err := <-revoked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the revocation waits: Resume was not called")
	}
	if want := []string{"Revoke", "Resume"}; !slices.Equal(qp.calls, want) {
		t.Errorf("%v, want %v", qp.calls, want)
	}
	for _, err := range []error{c.pool.Revoked(&s.regions[0].Region), c.pool.Close(), pd.Close(), dev.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
}
