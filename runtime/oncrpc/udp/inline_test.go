package udp_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// logText is the text of a log.
type logText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A marked procedure that blocks all the same delays the server for two seconds. Then it is logged,
// another goroutine reads, and the procedure has a goroutine for each Call.
func TestMarkedProcedureThatBlocks(t *testing.T) {
	var log logText
	gate := make(chan struct{})
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	onReader := make(chan bool, 2)
	rpc.Handle(svc, 2, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error {
		onReader <- bytes.Contains(debug.Stack(), []byte("serveHere("))
		<-gate
		return nil
	})
	svc.NonBlocking(1, 2)
	s := listen(t, "127.0.0.1:0", rpc.NewHandler(nil, svc), &udp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := dial(t, s.Addr(), once)
	stuck := make(chan error, 2)
	for k := range cap(stuck) {
		go func() { stuck <- rpc.NewClient(c, program, nil).Call(soon(t), 2, nil, nil, nil) }()
		if here := <-onReader; here != (k == 0) {
			t.Errorf("Call %d of the procedure runs on the goroutine that reads: %v", k+1, here)
		}
		double(t, c)
	}
	close(gate)
	for range cap(stuck) {
		if err := <-stuck; err != nil {
			t.Error(err)
		}
	}
	waitFor(t, func() bool { return readers() == 1 })
	double(t, c)
	if n := strings.Count(log.String(), "blocks although"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, log.String())
	}
}

// readers returns the number of goroutines that read datagrams of servers.
func readers() int {
	b := make([]byte, 1<<20)
	return bytes.Count(b[:runtime.Stack(b, true)], []byte("udp.(*Server).read("))
}

// A marked procedure that panics, or exits the goroutine that reads, costs its own Call alone.
func TestMarkedProcedureThatDies(t *testing.T) {
	h := dying{}
	s := listen(t, "127.0.0.1:0", h, nil)
	for proc := range uint32(4) {
		c := dial(t, s.Addr(), once)
		b, _ := oncrpc.NewCall(c.XID(), program.Number, program.Version, 10+proc, oncrpc.None()).AppendBinary(nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.Call(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: b}})
		}()
		if proc%2 == 1 { // it has answered
			<-done
		}
		other := dial(t, s.Addr(), once)
		next, _ := oncrpc.NewCall(other.XID(), program.Number, program.Version, 1, oncrpc.None()).AppendBinary(nil)
		if _, err := other.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: next}}); err != nil {
			t.Errorf("after procedure %d: %v", proc, err)
		}
		leak.Close(t, c)
		<-done
	}
}

// dying is a Handler whose procedures 10 and 11 panic, and 12 and 13 exit the goroutine. Those with
// an odd number have answered before. All are marked.
type dying struct{}

func (dying) NonBlocking(_, _, _ uint32) bool { return true }

func (dying) ReplyBound(_, _, _ uint32) int { return 100 }

func (dying) ServeRPC(r *oncrpc.Request) {
	xid, _, _ := oncrpc.Peek(r.Message)
	_, _, proc, _ := oncrpc.Procedure(r.Message)
	if proc%2 == 1 {
		b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: b}, nil)
	}
	switch proc {
	case 10, 11:
		panic("a fault of a marked procedure")
	case 12, 13:
		runtime.Goexit()
	}
}
