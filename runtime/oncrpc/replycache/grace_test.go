package replycache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// conn is a connection at a server, for Calls that a test makes up.
type conn struct {
	oncrpc.Conn
	ctx context.Context
}

func (*conn) Peer() oncrpc.Peer       { return oncrpc.Peer{} }
func (*conn) RemoteAddr() string      { return "192.0.2.1:1000" }
func (c *conn) Done() <-chan struct{} { return c.ctx.Done() }
func (c *conn) Err() error            { return c.ctx.Err() }

// responder is the Responder of a Call that a test makes up.
type responder struct {
	oncrpc.Responder
	conn    *conn
	as      oncrpc.Conn // in place of conn, if it is not nil
	request *oncrpc.Request
	replied chan bool // false: dropped
}

func (r *responder) Conn() oncrpc.Conn {
	if r.as != nil {
		return r.as
	}
	return r.conn
}

func (r *responder) Context() context.Context              { return r.conn.ctx }
func (r *responder) Reply(_ oncrpc.Message, _ func(error)) { r.replied <- true }
func (r *responder) Drop(_ func(error))                    { r.replied <- false }
func (r *responder) Serve(h oncrpc.Handler)                { h.ServeRPC(r.request) }

// request makes the same Call on a connection.
func request(c *conn) (*oncrpc.Request, <-chan bool) {
	b, _ := oncrpc.NewCall(7, program.Number, program.Version, 1, oncrpc.None()).AppendBinary(nil)
	r := &responder{conn: c, replied: make(chan bool, 1)}
	r.request = &oncrpc.Request{Message: b, Responder: r}
	return r.request, r.replied
}

// R288, T131: a client that loses several connections in a row, faster than the server notices, has
// its Call executed once. When the first connection is down, the reply belongs to another one.
// The server takes that one to be up, so it holds back the Call on the last connection.
func TestSeveralLosses(t *testing.T) {
	for range 20 { // the Calls held back go on in any order
		synctest.Test(t, func(t *testing.T) {
			executed := 0
			cache := replycache.New(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				if executed++; executed > 100 {
					panic("the cache executes the Call without end")
				}
				time.Sleep(5 * time.Second)
				b, _ := oncrpc.NewReply(7, oncrpc.Success).AppendBinary(nil)
				r.Reply(oncrpc.Message{Inline: b}, nil)
			}), nil)
			last := make(<-chan bool)
			for i := range 5 {
				c := new(conn)
				var lost context.CancelFunc
				c.ctx, lost = context.WithCancel(context.Background())
				defer lost()
				var r *oncrpc.Request
				r, last = request(c)
				go cache.ServeRPC(r)
				synctest.Wait()
				if i < 4 {
					time.AfterFunc(time.Duration(300+100*i)*time.Millisecond, lost)
				}
			}
			if !<-last || executed != 1 {
				t.Errorf("executed %d times, %+v", executed, cache.Stats())
			}
			time.Sleep(time.Minute)
		})
	}
}
