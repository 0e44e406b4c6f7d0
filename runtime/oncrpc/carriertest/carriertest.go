package carriertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Open makes a connection whose Calls server serves, and whose reverse Calls client serves. It
// returns the client's end. Everything is closed at the end of the test. Two Calls at least can be
// in progress in each direction.
type Open func(t *testing.T, server, client oncrpc.Handler) Conn

// Conn is the client's end of a connection.
type Conn interface {
	oncrpc.Conn
	Close() error
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"Messages": testMessages, "Order": testOrder, "Slow": testSlow, "Concurrent": testConcurrent,
		"Cancelled": testCancelled, "NotSent": testNotSent, "XIDInUse": testXIDInUse, "Ended": testEnded,
		"Answers": testAnswers, "Drop": testDrop, "Panic": testPanic, "Goexit": testGoexit, "Later": testLater, "BadReply": testBadReply,
		"Reverse": testReverse, "ReverseEnded": testReverseEnded, "Wrapped": testWrapped, "Serve": testServe, "Peer": testPeer,
		"SubmitMany": testSubmitMany, "SubmitNext": testSubmitNext, "SubmitGiveUp": testSubmitGiveUp, "SubmitLost": testSubmitLost, "SubmitPanic": testSubmitPanic,
		"SubmitRefused": testSubmitRefused, "Steps": testSteps,
		"Marked": testMarked, "MarkedAnswers": testMarkedAnswers, "MarkedPanic": testMarkedPanic, "MarkedConcurrent": testMarkedConcurrent,
		"MarkedBlocks":     testMarkedBlocks,
		"SubmitWithoutEnd": testSubmitWithoutEnd, "SubmitWithLock": testSubmitWithLock,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
	if testing.Short() {
		return
	}
	// All Calls of the client are submitted.
	for name, test := range map[string]func(*testing.T, Open){
		"Messages": testMessages, "Order": testOrder, "Slow": testSlow, "Concurrent": testConcurrent,
		"Cancelled": testCancelled, "NotSent": testNotSent, "XIDInUse": testXIDInUse, "Ended": testEnded, "Reverse": testReverse,
	} {
		t.Run("Submitted/"+name, func(t *testing.T) {
			test(t, func(t *testing.T, server, client oncrpc.Handler) Conn {
				return submitted{open(t, server, client), t}
			})
		})
	}
}

// patience is the time after which a test gives up.
const patience = 20 * time.Second

// soon returns a context that ends after patience.
func soon(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	return ctx
}

// The messages of these tests have a header, a length and an item of that length. They are of
// program 400000 version 1, and the number of the procedure says what the handler does.
const (
	program   = 400000
	callHead  = 40 // RFC 5531 §9, without credentials
	replyHead = 24
)

// newCall returns a Call with an item that is apart, and memory for one that comes back.
func newCall(xid, proc uint32, data []byte, room int) *oncrpc.Call {
	call := &oncrpc.Call{Message: callMessage(xid, proc, data), MaxReply: -1}
	if room > 0 {
		call.Results = [][]byte{make([]byte, room)}
	}
	return call
}

func callMessage(xid, proc uint32, data []byte) oncrpc.Message {
	b, err := oncrpc.NewCall(xid, program, 1, proc, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return withItem(b, data)
}

func replyMessage(xid uint32, data []byte) oncrpc.Message {
	b, err := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return withItem(b, data)
}

func withItem(b, data []byte) oncrpc.Message {
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	m := oncrpc.Message{Inline: b}
	if len(data) > 0 {
		m.Items = []xdr.Item{{Position: uint64(len(b)), Inline: len(b), Data: data}}
	}
	return m
}

// dataOf returns the item of a message whose header has a size. It is nil if the message is wrong.
func dataOf(message []byte, head int) []byte {
	if len(message) < head+4 {
		return nil
	}
	n := int(binary.BigEndian.Uint32(message[head:]))
	if rest := message[head+4:]; len(rest) == xdr.Padded(n) && !bytes.ContainsFunc(rest[n:], func(r rune) bool { return r != 0 }) {
		return rest[:n:n]
	}
	return nil
}

// replied returns the item of a reply, wherever it is.
func replied(t *testing.T, reply *oncrpc.Reply) []byte {
	t.Helper()
	if len(reply.Items) == 1 && reply.Items[0].Data != nil {
		data := reply.Items[0].Data
		if len(reply.Message) != replyHead+4 || int(binary.BigEndian.Uint32(reply.Message[replyHead:])) != len(data) {
			t.Errorf("the reply is %x, and %d bytes apart", reply.Message, len(data))
		}
		return data
	}
	data := dataOf(reply.Message, replyHead)
	if data == nil {
		t.Errorf("the reply of %d bytes is no reply", len(reply.Message))
	}
	return data
}

// do makes a Call and returns the item of its reply.
func do(t *testing.T, c oncrpc.Carrier, proc uint32, data []byte, room int) []byte {
	t.Helper()
	reply, err := c.Call(soon(t), newCall(c.XID(), proc, data, room))
	if err != nil {
		t.Errorf("procedure %d, %d bytes: %v", proc, len(data), err)
		return nil
	}
	return replied(t, reply)
}

// xidOf returns the XID of a Request.
func xidOf(r *oncrpc.Request) uint32 { return binary.BigEndian.Uint32(r.Message) }

// procOf returns the procedure of a Request.
func procOf(r *oncrpc.Request) uint32 {
	_, _, proc, _ := oncrpc.Procedure(r.Message)
	return proc
}

// echo answers a Request with its item.
func echo(r *oncrpc.Request) { r.Reply(replyMessage(xidOf(r), dataOf(r.Message, callHead)), nil) }

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 ^ i>>8)
	}
	return b
}
