package histories

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/history"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// The sizes of a Call's and a Reply's header without credentials (RFC 5531 §9).
const (
	callHead  = 40
	replyHead = 24
)

// histories makes Calls over a carrier whose connections are lost, and records what happens to them
// (package history). Each Call has a number, which its handler finds in the message, and its reply
// has the number of the execution.
type histories struct {
	log *history.Log

	results atomic.Uint64
	calls   atomic.Uint64
}

// newHistories returns histories without Calls.
func newHistories() *histories { return &histories{log: history.New(nil)} }

// ServeRPC implements oncrpc.Handler.
func (h *histories) ServeRPC(r *oncrpc.Request) {
	data := r.Message[callHead:]
	id, takes := binary.BigEndian.Uint64(data), time.Duration(binary.BigEndian.Uint64(data[8:]))
	result := h.results.Add(1)
	h.log.Executed(id, fmt.Sprintf("the server, for %s,", r.Conn().RemoteAddr()), result)
	time.Sleep(takes)
	reply, _ := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
	r.Reply(oncrpc.Message{Inline: binary.BigEndian.AppendUint64(reply, result)}, nil)
}

// run makes Calls from several callers at a time, each of them so many. Every second caller
// submits its Calls, each from the done function of the one before (oncrpc.Submit). The seed
// decides how long their handlers take, and which callers give up early. A Call that has no reply
// after limit is given up in any case.
func (h *histories) run(t *testing.T, c oncrpc.Carrier, seed uint64, callers, each int, limit time.Duration) {
	t.Helper()
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			if n%2 == 1 {
				h.submit(t, c, rng, each, limit)
				return
			}
			for range each {
				h.call(t, c, rng, limit)
			}
		})
	}
	all.Wait()
}

// call makes one Call.
func (h *histories) call(t *testing.T, c oncrpc.Carrier, rng *rand.Rand, limit time.Duration) {
	id, call, limit := h.begin(c, rng, limit)
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	reply, err := c.Call(ctx, call)
	h.ended(t, id, reply, err)
}

// submit submits n Calls, one after the other, and waits for the last.
func (h *histories) submit(t *testing.T, c oncrpc.Carrier, rng *rand.Rand, n int, limit time.Duration) {
	over := make(chan struct{})
	var next func()
	next = func() {
		if n--; n < 0 {
			close(over)
			return
		}
		id, call, limit := h.begin(c, rng, limit)
		call.Deadline = time.Now().Add(limit)
		if err := oncrpc.Submit(context.Background(), c, call, func(reply *oncrpc.Reply, err error) {
			h.ended(t, id, reply, err)
			next()
		}); err != nil {
			h.ended(t, id, nil, err)
			next()
		}
	}
	next()
	<-over
}

// begin returns the number of the next Call, and how long it may take.
func (h *histories) begin(c oncrpc.Carrier, rng *rand.Rand, limit time.Duration) (uint64, *oncrpc.Call, time.Duration) {
	id, takes := h.calls.Add(1), time.Duration(0)
	if rng.IntN(4) == 0 {
		takes = time.Duration(rng.IntN(int(10 * time.Millisecond)))
	}
	if rng.IntN(16) == 0 {
		limit = time.Duration(1 + rng.IntN(int(20*time.Millisecond)))
	}
	b, _ := oncrpc.NewCall(c.XID(), 400000, 1, 1, oncrpc.None()).AppendBinary(nil)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id), uint64(takes))
	call := &oncrpc.Call{Message: oncrpc.Message{Inline: b}, MaxReply: -1}
	h.log.Called(id, fmt.Sprintf("the client, with XID %#x,", call.XID()))
	return id, call, limit
}

// ended records the end of a Call.
func (h *histories) ended(t *testing.T, id uint64, reply *oncrpc.Reply, err error) {
	if err != nil {
		how := history.NotSent
		var ce *oncrpc.CallError
		if errors.As(err, &ce) && ce.MayHaveRun {
			how = history.MayHaveRun
		}
		h.log.Note(fmt.Sprintf("the error is: %v", err), id)
		h.log.Returned(id, how, 0)
		return
	}
	if n := len(reply.Message); n != replyHead+8 {
		t.Errorf("the reply to Call %d has %d bytes", id, n)
		return
	}
	h.log.Returned(id, history.Answered, binary.BigEndian.Uint64(reply.Message[replyHead:]))
}

// check reports the broken rules. The client and the server must be closed, so that nothing is
// executed any more. It returns the number of Calls that were executed more than once.
func (h *histories) check(t *testing.T, p history.Promise) (repeated int) {
	t.Helper()
	for _, f := range h.log.Check(p) {
		t.Error(f)
	}
	for id := range h.calls.Load() {
		if h.log.Executions(id+1) > 1 {
			repeated++
		}
	}
	return repeated
}
