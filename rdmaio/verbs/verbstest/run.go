// Package verbstest is the acceptance suite of verbs providers. It tests the behavior that a
// transport relies on, and the defenses against a peer. A provider's test calls Run with a
// function that opens a fresh pair of devices, and its benchmark calls Benchmark with the
// same function:
//
//	func TestAcceptance(t *testing.T) {
//		verbstest.Run(t, func(t *testing.T) verbstest.Fabric { return open(t) })
//	}
//	func BenchmarkVerbs(b *testing.B) { verbstest.Benchmark(b, open) }
//
//	func open(tb testing.TB) verbstest.Fabric {
//		client, server := ... // two devices that can connect to each other
//		return verbstest.Fabric{Client: client, Server: server, Addr: "127.0.0.1:0"}
//	}
//
// Client and server may be the same device. Run the suite under the race detector too:
// several cases pass memory back and forth, so that the detector finds a provider that
// accesses bytes which do not belong to it any more. The suite itself is tested with
// providers that have one deliberate fault each (mutants_test.go).
//
// The comments of the cases name the rows of docs/requirements.md that they prove (R1 to
// R14, R290, R301, R304, R318, R319). Each case closes all its objects, and checks that
// Resources counts none.
package verbstest

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Fabric holds the two devices of a case, which can connect to each other and which no other
// case uses. The suite closes them.
type Fabric struct {
	Client, Server verbs.Device

	// Addr is the address for Server to listen at: a free name, or one that stands for any
	// free address ("127.0.0.1:0").
	Addr string

	// Precise reports whether a Send or Write that the peer refuses completes with the
	// status of that refusal. If false, such a request may complete with success or as
	// flushed before the connection breaks, as over iWARP.
	Precise bool

	// UnknownCause reports that QueuePair.Err may return another reason for a disconnect than the
	// real one. The suite then only checks that there is a reason. A dialer may also get a
	// rejection from a listener that has closed or given up.
	UnknownCause bool

	// AnyLengthStatus concerns a message that is longer than its Receive. It reports that the
	// Receive may complete with any status but success, and that a failed Send may have any error.
	AnyLengthStatus bool

	// EndsAtDeregister reports that the connection breaks at once when a region that posted
	// requests name is deregistered or invalidated, because the device does not know about the
	// region.
	EndsAtDeregister bool

	// LateReads reports that Invalidate does not wait for a peer's Read in progress. The Read may
	// return bytes that were written afterwards.
	LateReads bool

	// Timeout is the longest time that an operation may take. If zero or negative, the default
	// is a quarter of the time until the test's deadline, or a minute if the test has no deadline.
	Timeout time.Duration

	// Remove removes a device, as unplugging would. If nil, the cases of removal are
	// skipped.
	Remove func(verbs.Device)
}

// Run runs the suite. It calls open once for each case.
func Run(t *testing.T, open func(t *testing.T) Fabric) {
	for _, c := range []struct {
		name string
		run  func(*harness)
	}{
		{"attributes", testAttributes},
		{"messages/order", testOrder},
		{"messages/lengths", testLengths},
		{"messages/scatter-gather", testScatterGather},
		{"messages/both directions", testBothDirections},
		{"messages/before accept returns", testEarlySend},
		{"messages/receive too small", testReceiveTooSmall},
		{"messages/none posted", testNonePosted},
		{"messages/lent", testLoans},
		{"messages/lent together", testLoansKept},
		{"messages/lent in turn", testLoansInTurn},
		{"messages/none lent", testNoneLent},
		{"messages/long lists", testLongLists},
		{"messages/empty", testEmpty},
		{"messages/too long", testSizes},
		{"memory/write then send", testWriteThenSend},
		{"memory/read", testRead},
		{"memory/read then fenced send", testFence},
		{"memory/read into a list", testReadLists},
		{"memory/bulk both ways", testBulk},
		{"memory/random requests", testRandom},
		{"memory/zero length", testZeroLength},
		{"memory/bounds", testBounds},
		{"memory/rights", testRights},
		{"memory/foreign domain", testForeignDomain},
		{"memory/handles", testHandles},
		{"memory/guessed keys", testGuessedKeys},
		{"memory/registration errors", testRegistrationErrors},
		{"memory/alloc", testAlloc},
		{"memory/redirect", testRedirect},
		{"memory/on demand", testOnDemand},
		{"memory/on demand refused", testOnDemandRefused},
		{"invalidate/by call", testInvalidateCall},
		{"invalidate/by request", testLocalInvalidate},
		{"invalidate/by request in order", testLocalInvalidateOrder},
		{"invalidate/by peer", testRemoteInvalidate},
		{"invalidate/refused to peer", testRemoteInvalidateRefused},
		{"invalidate/reregister", testReregister},
		{"invalidate/race with writes", testInvalidateRace},
		{"invalidate/race with reads", testInvalidateReadRace},
		{"invalidate/race and reregister", testReregisterRace},
		{"revoke/several", testRevoke},
		{"revoke/refused", testRevokeRefused},
		{"revoke/every state", testRevokeStates},
		{"revoke/end of the connection", testRevokeEnd},
		{"revoke/race with writes", testRevokeRace},
		{"queues/errors at post", testPostErrors},
		{"queues/bad request in a batch", testBadWR},
		{"queues/failure in a batch", testFailureInBatch},
		{"queues/element limits", testElementLimits},
		{"queues/slices are the caller's", testPostCopies},
		{"queues/full", testQueueFull},
		{"queues/unsignaled", testUnsignaled},
		{"queues/unsignaled failure", testUnsignaledFailure},
		{"queues/reservation", testReservation},
		{"queues/arm misses nothing", testArm},
		{"queues/arm widens", testArmWidens},
		{"queues/poll in pieces", testPollPieces},
		{"queues/solicited", testSolicited},
		{"queues/completion order", testCompletionOrder},
		{"queues/any number", testNumbers},
		{"queues/two for one pair", testTwoQueues},
		{"queues/many posters", testManyPosters},
		{"queues/many pollers", testManyPollers},
		{"queues/shared by two", testSharedObjects},
		{"queues/post from a notification", testPostFromNotify},
		{"progress/answers", testProgress},
		{"progress/transfers", testProgressTransfers},
		{"progress/wake", testProgressWake},
		{"progress/end", testProgressEnd},
		{"connect/addresses", testAddresses},
		{"connect/private data", testPrivateData},
		{"connect/reject", testReject},
		{"connect/reject lengths", testRejectData},
		{"connect/refused", testRefused},
		{"connect/address in use", testAddressInUse},
		{"connect/cancel", testCancel},
		{"connect/ended context", testEndedContext},
		{"connect/misuse", testConnectMisuse},
		{"connect/foreign objects", testForeignObjects},
		{"connect/listener close", testListenerClose},
		{"connect/many at once", testManyConnects},
		{"connect/listener close while dialing", testCloseWhileDialing},
		{"connect/read depth", testReadDepth},
		{"connect/channel binding", testChannelBinding},
		{"connect/TLS state", testTLSState},
		{"disconnect/flush", testFlush},
		{"disconnect/flush behind a Read", testFlushBehind},
		{"disconnect/with a reason", testDisconnectReasons},
		{"disconnect/notified once", testNotifiedOnce},
		{"disconnect/every state", testDisconnectStates},
		{"disconnect/under load", testDisconnectUnderLoad},
		{"disconnect/close order", testCloseOrder},
		{"disconnect/close while posting", testCloseWhilePosting},
		{"disconnect/removal", testRemoval},
		{"disconnect/removal of listeners", testRemovalOfListeners},
		{"objects/counted", testAccounting},
		{"objects/use after close", testUseAfterClose},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := stacks()
			f := open(t)
			if f.Timeout <= 0 {
				f.Timeout = timeout(t)
			}
			h := &harness{TB: t, Fabric: f}
			t.Cleanup(func() { h.checkClosed(before) })
			c.run(h)
		})
	}
}

// timeout returns the default of Fabric.Timeout. A loaded machine may delay an operation by
// seconds. An operation that hangs must fail before the deadline, which stops all tests.
func timeout(t *testing.T) time.Duration {
	if deadline, ok := t.Deadline(); ok {
		return time.Until(deadline) / 4
	}
	return time.Minute
}

// checkClosed runs after all objects of the case were closed. before has the stacks of all
// goroutines before the devices were opened.
func (h *harness) checkClosed(before []string) {
	for _, d := range []verbs.Device{h.Client, h.Server} {
		if r := d.Resources(); r != (verbs.Resources{}) {
			h.Errorf("device %s: %+v left after the case", d.Attributes().Name, r)
		}
		if err := d.Close(); err != nil {
			h.Errorf("close device: %v", err)
		}
		if err := d.Close(); err != nil {
			h.Errorf("close device again: %v", err)
		}
	}
	// A goroutine that has finished its work may still be about to end.
	provider := reflect.Indirect(reflect.ValueOf(h.Client)).Type().PkgPath() + "."
	limit := len(running(before, provider))
	left := running(stacks(), provider)
	for start := time.Now(); len(left) > limit && time.Since(start) < h.Timeout; left = running(stacks(), provider) {
		time.Sleep(time.Millisecond)
	}
	if len(left) > limit {
		h.Errorf("%d goroutines of %s were there before the case, now %d:\n%s", limit, provider, len(left), strings.Join(left, "\n\n"))
	}
}

// stacks returns the stacks of all goroutines.
func stacks() []string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Split(string(buf[:n]), "\n\n")
		}
		buf = make([]byte, 2*len(buf))
	}
}

// running returns the stacks of goroutines that run or were started by a package's code.
func running(stacks []string, pkg string) (in []string) {
	for _, s := range stacks {
		if strings.Contains(s, pkg) {
			in = append(in, s)
		}
	}
	return in
}

func testAttributes(h *harness) {
	for _, d := range []verbs.Device{h.Client, h.Server} {
		a := d.Attributes()
		if a.Name == "" || a.MaxSendWR < 1 || a.MaxRecvWR < 1 || a.MaxSendSGE < 1 || a.MaxRecvSGE < 1 ||
			a.MaxReadSGE < 1 || a.MaxCQE < 2 || a.MaxMRSize == 0 || a.MaxMessageSize == 0 {
			h.Errorf("a limit is missing: %+v", a)
		}
	}
}
