package setup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// counter executes Calls of rpcOf, counts how often by XID, and answers with as many bytes as the
// third word says. It closes the connection of each Call whose number is in breaks: before the
// answer, which is then made all the same.
type counter struct {
	t      *testing.T
	breaks map[int]bool
	bind   func(*rdmaio.Conn) // before a Call is executed

	mu   sync.Mutex
	runs map[uint32]int
	n    int
	wg   sync.WaitGroup
}

func (h *counter) ServeRPC(r *rdmaio.Request) {
	m := r.Message
	xid := binary.BigEndian.Uint32(m)
	want := rpctest.Bytes(xid, 0, len(m))
	copy(want[8:12], m[8:])
	if !bytes.Equal(m, want) {
		h.t.Errorf("the Call of %d bytes has other bytes", len(m))
	}
	if h.bind != nil {
		h.bind(r.Conn().(*rdmaio.Conn))
	}
	if len(m) == helloBytes {
		r.Reply(rdmaio.Message{Inline: rpctest.Bytes(xid, 1, 40)}, nil)
		return
	}
	h.mu.Lock()
	h.runs[xid]++
	lose := h.breaks[h.n]
	h.n++
	h.mu.Unlock()
	reply := rdmaio.Message{Inline: rpctest.Bytes(xid, 1, int(binary.BigEndian.Uint32(m[8:])))}
	if !lose {
		r.Reply(reply, nil)
		return
	}
	h.wg.Go(func() {
		h.wg.Go(func() { _ = r.Conn().(*rdmaio.Conn).Close() })
		<-r.Context().Done()
		r.Reply(reply, nil)
	})
}

// helloBytes is the size of the Call with which a client begins each connection. It is not counted.
const helloBytes = 16

// greet makes that Call.
func greet(ctx context.Context, c *rdmaio.Conn) error {
	_, err := c.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: rpctest.Bytes(c.XID(), 0, helloBytes)}})
	return err
}

// once reports an error unless each of the XIDs was executed once, and nothing else.
func (h *counter) once(xids []uint32) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range xids {
		if h.runs[x] != 1 {
			h.t.Errorf("the Call %#x was executed %d times", x, h.runs[x])
		}
	}
	if len(h.runs) != len(xids) {
		h.t.Errorf("%d Calls were executed, %d were made", len(h.runs), len(xids))
	}
}

// pairCalls makes Calls of many sizes from several goroutines, and returns their XIDs.
func pairCalls(t *testing.T, next func() uint32, call func(context.Context, *rdmaio.Call) (*rdmaio.Reply, error), sizes []int) (xids []uint32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i, n := range sizes {
		xid, reply := next(), sizes[len(sizes)-1-i]
		xids = append(xids, xid)
		wg.Go(func() {
			b := rpctest.Bytes(xid, 0, n)
			binary.BigEndian.PutUint32(b[8:], uint32(reply))
			got, err := call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: b}, MaxReply: reply})
			if err != nil {
				t.Errorf("Call of %d, reply of %d bytes: %v", n, reply, err)
			} else if !bytes.Equal(got.Message, rpctest.Bytes(xid, 1, reply)) {
				t.Errorf("Call of %d, reply of %d bytes: %d other bytes", n, reply, len(got.Message))
			}
		})
	}
	wg.Wait()
	return xids
}

// R184 to R187, R272, R284: the same Client and Server make Calls both ways with all versions at
// either side, at the same address. Connections are lost on the way; with a cache of replies at
// both sides, each Call is executed once.
func TestClientCallsOverAllPairsOfVersions(t *testing.T) {
	all := [][]int{{1}, {2}, {1, 2}, {2, 1}}
	for _, server := range all {
		for _, client := range all {
			t.Run(fmt.Sprint(server, client), func(t *testing.T) {
				rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) { clientVersionPair(t, w, server, client) })
			})
		}
	}
}

func clientVersionPair(t *testing.T, w *rdmaiotest.World, server, client []int) {
	want := 0
	for _, v := range client {
		if want == 0 && slices.Contains(server, v) {
			want = v
		}
	}
	var ev connEvents
	back := rdmaio.NewBackchannel(nil)
	forward := &counter{t: t, runs: make(map[uint32]int), breaks: map[int]bool{3: true, 9: true}, bind: back.Bind}
	reverse := &counter{t: t, runs: make(map[uint32]int), breaks: map[int]bool{5: true}}
	t.Cleanup(func() { forward.wg.Wait(); reverse.wg.Wait() })
	w.Serve(replycache.New(forward, nil), &rdmaio.Config{Versions: server, ReverseCredits: 4})
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
		Conn:      &rdmaio.Config{Versions: client, ReverseHandler: replycache.New(reverse, nil), Events: ev.add},
		Connected: greet,
	})
	if want == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var pe *rdmaio.PeerError
		_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
		if !errors.Is(err, rdmaio.ErrNoVersion) && (!errors.As(err, &pe) || pe.Code != rdmaio.PeerErrVers) {
			t.Errorf("no version in common: %v", err)
		}
		return
	}
	sizes := []int{12, 900, 40, 3000, 9000, 12, 60000, 4096, 20000, 40, 1100, 900}
	forward.once(append(pairCalls(t, c.XID, c.Call, sizes), pairCalls(t, c.XID, c.Call, sizes)...))
	small := []int{12, 100, 900, 40, 500, 700, 40, 40} // the peer has no chunks for reverse Calls
	reverse.once(append(pairCalls(t, back.XID, back.Call, small), pairCalls(t, back.XID, back.Call, small)...))
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if n := len(ev.up); n == 0 || ev.up[n-1] != want {
		t.Errorf("the connections have versions %v, want %d", ev.up, want)
	}
}
