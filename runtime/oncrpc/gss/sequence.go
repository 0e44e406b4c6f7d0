package gss

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errExhausted reports that a context has no sequence number left.
var errExhausted = errors.New("gss: the sequence numbers of the context are used up (RFC 2203 §5.3.3.3)")

// number is a sequence number that a client has used.
type number struct {
	seq  uint32
	at   time.Duration // numbers.running when it was taken
	done bool          // the call is over, or has been sent again with another number
}

// numbers hands out the sequence numbers of a client's context within the server's window. As many
// numbers may be in progress as the window has. A number must also not be so high that the server
// would drop a lower one in progress that it has not seen (RFC 2203 §5.2.3.1, §5.3.3.1). A number
// that was taken longer than patience ago no longer counts for this second rule: messages are not
// delayed that long, so the server has seen the number, and its handler is slow. Otherwise one slow
// call would stop all others.
//
// Time in which this process was stopped, or had no processor, does not count: a caller that has
// taken a number may not have sent its message yet.
type numbers struct {
	window   uint32
	patience time.Duration

	mu       sync.Mutex
	running  time.Duration // time that counts
	looked   time.Time     // the time of the last look at the clock
	next     uint32
	last     uint32        // the highest that take may return
	order    []*number     // those taken, from the oldest that counts
	inUse    uint32        // those that are not done
	released chan struct{} // closed when one is done, if a caller waits
}

func newNumbers(window uint32) *numbers {
	const last = MaxSeq - 2 // one is left for RPCSEC_GSS_DESTROY
	return &numbers{window: window, patience: time.Second, next: 1, last: last}
}

// take returns the next number, and waits until the window has room for it.
func (n *numbers) take(ctx context.Context) (*number, error) {
	for {
		got, wait, err := n.try(time.Now())
		if got != nil || err != nil {
			return got, err
		}
		if err := wait.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// room describes the event that a caller of take waits for.
type room struct {
	released <-chan struct{}
	late     time.Duration // until the oldest number may no longer count; 0: that makes no room
}

// try returns the next number, or what to wait for.
func (n *numbers) try(now time.Time) (got *number, wait room, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.looked.IsZero() {
		n.running += min(now.Sub(n.looked), n.step())
	}
	n.looked = now
	for len(n.order) > 0 && (n.order[0].done || n.running-n.order[0].at >= n.patience) {
		n.order = n.order[1:]
	}
	far := len(n.order) > 0 && n.next-n.order[0].seq >= n.window
	switch {
	case n.next > n.last:
		return nil, room{}, errExhausted
	case n.inUse >= n.window, far:
		if n.released == nil {
			n.released = make(chan struct{})
		}
		wait.released = n.released
		if far {
			wait.late = min(n.patience-(n.running-n.order[0].at), n.step())
		}
		return nil, wait, nil
	}
	got = &number{seq: n.next, at: n.running}
	n.next++
	n.inUse++
	n.order = append(n.order, got)
	return got, room{}, nil
}

// step is the longest time between two looks at the clock that counts as a whole.
func (n *numbers) step() time.Duration { return n.patience / 16 }

// wait waits until there may be room.
func (r room) wait(ctx context.Context) error {
	var late <-chan time.Time
	if r.late > 0 {
		timer := time.NewTimer(r.late)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-r.released:
	case <-late:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// release marks a number as no longer in use. It may be called twice.
func (n *numbers) release(u *number) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if u.done {
		return
	}
	u.done = true
	n.inUse--
	if n.released != nil {
		close(n.released)
		n.released = nil
	}
}

// final returns a number for the last call of a context. No other call may be in progress.
func (n *numbers) final() uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.next // last is below the highest number that RPCSEC_GSS has
}
