package carriertest

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// RunDatagrams runs the part of the suite for a carrier whose messages are datagrams of at most
// 65,507 bytes: it has no reverse Calls, and neither end learns that the other has gone. client is
// nil for Open. The carrier must not send a Call again during the tests, and have 64 Calls in
// progress at most: the receive buffers would drop others.
func RunDatagrams(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"Messages": testShortMessages, "Order": testOrder, "Slow": testSlow, "Concurrent": testDatagramsConcurrent,
		"Cancelled": testCancelled, "NotSent": testNotSent, "XIDInUse": testXIDInUse,
		"Answers": testAnswers, "Drop": testDrop, "Later": testLater, "BadReply": testBadReply,
		"SubmitMany": testSubmitMany, "SubmitNext": testSubmitNext, "SubmitGiveUp": testSubmitGiveUp, "SubmitLost": testSubmitLost, "SubmitPanic": testSubmitPanic,
		"SubmitRefused": testSubmitRefused, "SubmitWithoutEnd": testSubmitWithoutEnd, "SubmitWithLock": testSubmitWithLock,
		"NoReverse": testNoReverse, "Peer": testPeer, "Marked": testMarked, "MarkedAnswers": testMarkedAnswers, "MarkedConcurrent": testMarkedDatagramsConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
	if testing.Short() {
		return
	}
	// All Calls are submitted.
	for name, test := range map[string]func(*testing.T, Open){
		"Messages": testShortMessages, "Order": testOrder, "Slow": testSlow, "Concurrent": testDatagramsConcurrent,
		"Cancelled": testCancelled, "NotSent": testNotSent, "XIDInUse": testXIDInUse,
	} {
		t.Run("Submitted/"+name, func(t *testing.T) {
			test(t, func(t *testing.T, server, client oncrpc.Handler) Conn {
				return submitted{open(t, server, client), t}
			})
		})
	}
}

// testShortMessages is testMessages with messages that fit in a datagram.
func testShortMessages(t *testing.T, open Open) {
	exchangeSizes(t, open, 0, 1, 3, 4, 900, 4095, 65_400)
}

// mostAtATime bounds the datagrams of tests that have 16 in flight. By default, the receive buffer
// of a socket has room for 12 of 8 KiB on Linux, and drops others while the reader is delayed.
const mostAtATime = 1000

func testDatagramsConcurrent(t *testing.T, open Open) {
	exchangeAtATime(t, open(t, oncrpc.HandlerFunc(echo), nil), mostAtATime)
}

func testMarkedDatagramsConcurrent(t *testing.T, open Open) {
	exchangeAtATime(t, open(t, mark(echo), nil), mostAtATime)
}

// Calls to the client fail, whether they are allowed or not.
func testNoReverse(t *testing.T, open Open) {
	failed := make(chan error, 3)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		conn := r.Conn()
		for range 2 {
			_, err := conn.Call(soon(t), newCall(conn.XID(), 1, nil, 0))
			failed <- err
			conn.AllowReverse()
		}
		_, err := conn.Call(soon(t), nil)
		failed <- err
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	for range 3 {
		wantError(t, <-failed, oncrpc.ErrReverse, false)
	}
}
