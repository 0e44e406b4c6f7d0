package monitor_test

import (
	"context"
	"encoding/binary"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// program is the one whose procedures have names.
var program = oncrpc.Program{Number: 400, Version: 2, Name: "STORE2", Procedures: map[uint32]string{1: "GET", 2: "PUT"}}

// callOf returns a Call of a procedure, without arguments.
func callOf(xid, prog, vers, proc uint32) []byte {
	var b []byte
	for _, w := range []uint32{xid, 0, 2, prog, vers, proc, 0, 0, 0, 0} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// replyOf returns a reply without results.
func replyOf(xid uint32, stat oncrpc.AcceptStat) oncrpc.Message {
	b, err := oncrpc.NewReply(xid, stat).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return oncrpc.Message{Inline: b}
}

// responder is the carrier's side of a Request.
type responder struct {
	oncrpc.Responder
	addr    string
	replies int
	drops   int
	done    func(error) // of the last answer
}

func (r *responder) Conn() oncrpc.Conn                        { return peer{addr: r.addr} }
func (r *responder) Reply(_ oncrpc.Message, done func(error)) { r.replies, r.done = r.replies+1, done }
func (r *responder) Drop(done func(error))                    { r.drops, r.done = r.drops+1, done }

// known is a responder of a caller that has proved its name.
type known struct{ *responder }

func (known) Principal() string { return "alice" }

// peer is a connection that makes Calls, too.
type peer struct {
	oncrpc.Conn
	addr string
	call func(*oncrpc.Call) (*oncrpc.Reply, error)
}

func (p peer) RemoteAddr() string { return p.addr }
func (p peer) XID() uint32        { return 1 }
func (p peer) Peer() oncrpc.Peer  { return oncrpc.Peer{Addr: "alice"} }

func (p peer) Call(_ context.Context, c *oncrpc.Call) (*oncrpc.Reply, error) { return p.call(c) }

// serve passes a Call to a handler of m that answers by f.
func serve(m *monitor.Monitor, r oncrpc.Responder, call []byte, f func(*oncrpc.Request)) {
	m.Handler(oncrpc.HandlerFunc(f)).ServeRPC(&oncrpc.Request{Message: call, Responder: r})
}

// only returns the only Procedure of a look.
func only(t *testing.T, m *monitor.Monitor) monitor.Procedure {
	t.Helper()
	s := m.Look(monitor.Query{})
	if len(s.Procedures) != 1 {
		t.Fatalf("procedures %+v, want one", s.Procedures)
	}
	return s.Procedures[0]
}
