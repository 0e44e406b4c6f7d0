// Package verbstest is the acceptance suite of verbs providers: what a
// transport relies on, and what a peer must not get away with. A provider's
// test calls Run with a function that opens a fresh pair of devices, and its
// benchmarks Benchmark with the same:
//
//	func TestAcceptance(t *testing.T) {
//		verbstest.Run(t, func(t *testing.T) verbstest.Fabric { return open(t) })
//	}
//	func BenchmarkVerbs(b *testing.B) { verbstest.Benchmark(b, open) }
//
//	func open(tb testing.TB) verbstest.Fabric {
//		client, server := ... // two devices that reach each other
//		return verbstest.Fabric{Client: client, Server: server, Addr: "127.0.0.1:0"}
//	}
//
// One device may be both. Run it under the race detector too: several cases
// hand memory back and forth so that it sees a provider that touches bytes
// which are no longer its own. The suite is itself tested, by providers with
// one deliberate fault each (mutants_test.go).
//
// The suite names the rows of the requirements list (R1 to R14, R290, R301,
// R304, R318, R319) that a case proves, and leaves each device as it found it: everything
// closed, nothing counted by Resources.
package verbstest

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Fabric is what a case runs on: two devices that reach each other, used by
// this case alone. The suite closes them.
type Fabric struct {
	Client, Server verbs.Device

	// Addr is what Server listens at: a free name, or a form that finds one
	// ("127.0.0.1:0").
	Addr string

	// Precise: a Send or Write that the peer refuses completes with the status
	// that says why. Without it such a request may complete with success or as
	// flushed before the connection breaks, as over iWARP.
	Precise bool

	// Timeout is how long anything may take; default 5 s.
	Timeout time.Duration

	// Remove takes a device away, as unplugging would. Without it the case of
	// removal is skipped.
	Remove func(verbs.Device)
}

// Run runs the suite; open is called once for each case.
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
		{"messages/long lists", testLongLists},
		{"messages/nothing in all shapes", testNothing},
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
		{"invalidate/by call", testInvalidateCall},
		{"invalidate/by request", testLocalInvalidate},
		{"invalidate/by request in its turn", testLocalInvalidateOrder},
		{"invalidate/by peer", testRemoteInvalidate},
		{"invalidate/refused to peer", testRemoteInvalidateRefused},
		{"invalidate/reregister", testReregister},
		{"invalidate/race with writes", testInvalidateRace},
		{"invalidate/race with reads", testInvalidateReadRace},
		{"invalidate/race and reregister", testReregisterRace},
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
		{"disconnect/flush", testFlush},
		{"disconnect/flush behind a Read", testFlushBehind},
		{"disconnect/with a reason", testDisconnectReasons},
		{"disconnect/told once", testNotifiedOnce},
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
				f.Timeout = 5 * time.Second
			}
			h := &harness{TB: t, Fabric: f}
			t.Cleanup(func() { h.checkClosed(before) })
			c.run(h)
		})
	}
}

// checkClosed runs after everything of the case was closed. before has the stacks
// of all goroutines from before the devices were opened.
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
	// A goroutine that has done its last work may still be on its way out.
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

// stacks gives the stacks of all goroutines.
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

// running picks the stacks that a package is in, or was when it started them.
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
