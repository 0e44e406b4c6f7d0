package gss_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A reply of the largest size for which the caller has offered memory comes over each carrier with
// each service: what the caller offers grows by the verifier and the protection, and the handler's
// Room shrinks by it (RFC 8166 §8.2.2.2; R84, R103).
func TestReplyOfLargestSize(t *testing.T) {
	for name, connect := range carriers {
		for _, service := range services {
			t.Run(name+"/"+service.String(), func(t *testing.T) {
				realm := gsstest.NewRealm(2)
				size, room := 0, 0
				h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
					_, room = r.Room()
					xid, _, _ := oncrpc.Peek(r.Message)
					b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
					r.Reply(oncrpc.Message{Inline: append(b, bytes.Repeat([]byte{7}, size-24)...)}, nil)
				}), realm.Acceptor(), nil)
				c := secure(t, connect(t, h, nil), realm.Initiator("alice", "s"), service)
				for _, n := range []int{24, 100, 4000, 4096, 4100, 70_000} {
					for _, tt := range []struct{ most, buf int }{{n, 0}, {n, 10}, {0, n}, {n, n + 500}} {
						what := fmt.Sprintf("%d bytes, MaxReply %d, ReplyBuf of %d", n, tt.most, tt.buf)
						xid := c.XID()
						b, err := oncrpc.NewCall(xid, testProgram, testVersion, 1, oncrpc.None()).AppendBinary(nil)
						if err != nil {
							t.Fatal(err)
						}
						size = n
						call := &oncrpc.Call{Message: oncrpc.Message{Inline: b}, MaxReply: tt.most, ReplyBuf: make([]byte, tt.buf)}
						reply, err := c.Call(soon(t), call)
						if err != nil {
							t.Errorf("%s: %v", what, err)
							continue
						}
						want, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
						if want = append(want, bytes.Repeat([]byte{7}, n-24)...); !bytes.Equal(reply.Message, want) {
							t.Errorf("%s: %d bytes came: %.40x", what, len(reply.Message), reply.Message)
						}
						if room < n {
							t.Errorf("%s: Room is %d", what, room)
						}
						if call.MaxReply != tt.most || len(call.ReplyBuf) != tt.buf || call.Renew != nil || !bytes.Equal(call.Inline, b) {
							t.Errorf("%s: the Call was changed: %+v", what, call)
						}
					}
				}
			})
		}
	}
}

// A handler whose reply has exactly the size of Room is answered to, and the items of replies are
// joined under integrity and privacy (R306), where no memory for results is offered.
func TestReplyMayFillTheRoom(t *testing.T) {
	for _, service := range services {
		t.Run(service.String(), func(t *testing.T) {
			realm := gsstest.NewRealm(2)
			var results []int
			h := gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				var room int
				results, room = r.Room()
				xid, _, _ := oncrpc.Peek(r.Message)
				b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
				n := room &^ 3
				data := bytes.Repeat([]byte{9}, n-len(b)-4-3)
				b = words(b, uint32(len(data)))
				r.Reply(oncrpc.Message{Inline: b, Items: []xdr.Item{{Position: uint64(len(b)), Inline: len(b), Data: data}}}, nil)
			}), realm.Acceptor(), nil)
			p := newPeer(t, h, realm, "192.0.2.1:1000")
			p.room = []int{50}
			p.connect("alice")
			body := map[gss.Service]func(uint32, []byte) []byte{
				gss.None: func(uint32, []byte) []byte { return nil }, gss.Integrity: p.integ, gss.Privacy: p.priv,
			}[service](1, nil)
			if got := p.result(p.call(1, 1, service, body)); got != "ok" || len(p.reply) > 1000 || len(p.reply) < 990 {
				t.Errorf("%s, %d bytes; the connection has room for 1000", got, len(p.reply))
			}
			if (results == nil) != (service != gss.None) {
				t.Errorf("Room for results: %v", results)
			}
			// Memory that does not take the protection has no room at all.
			small := &line{addr: p.addr, less: 990}
			room := -1
			h = gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { _, room = r.Room(); r.Drop(nil) }), realm.Acceptor(), nil)
			p = newPeer(t, h, realm, "192.0.2.1:1000")
			p.connect("alice")
			p.line = small
			p.send(t, h, p.call(1, 1, gss.None, nil))
			if room != 0 {
				t.Errorf("a client with memory for 10 bytes: room for %d", room)
			}
		})
	}
}
