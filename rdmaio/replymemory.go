package rdmaio

import (
	"context"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// takeReplyMemory takes memory for a reply of n bytes, and waits until the connection may offer so
// much.
func (o *offering) takeReplyMemory(ctx context.Context, n int) error {
	c := o.caller
	n = mrpool.Size(n)
	if w := c.offered.replies.begin(n); w != nil {
		if o.now {
			c.offered.replies.leave(w)
			return errWaits
		}
		c.waits.Add(1)
		c.limitReached(LimitMaxReplyMemory)
		var err error
		select {
		case <-w.ready:
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.ctx.Done():
			err = context.Cause(c.ctx)
		}
		if err != nil {
			c.offered.replies.leave(w)
			return err
		}
	}
	o.slot.replyMemory = n
	return nil
}

// returnReplyMemory ends what takeReplyMemory took, if it did.
func (s *slot) returnReplyMemory(c *caller) {
	c.offered.replies.release(s.replyMemory)
	s.replyMemory = 0
}
