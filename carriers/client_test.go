package carriers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/carriers"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

// host is a Carrier that a test controls. Its fields are for the test; mu guards them.
type host struct {
	mu     sync.Mutex
	probe  func(ctx context.Context) error                    // nil: it answers
	answer func(ctx context.Context, call *oncrpc.Call) error // nil: it answers
	probes []time.Time
	calls  []uint32 // XIDs
	closes int
	fail   error // of Close
}

func (h *host) XID() uint32 { panic("a Client has its own XIDs") }

func (h *host) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	_, _, procedure, _ := oncrpc.Procedure(call.Inline)
	h.mu.Lock()
	probe, answer := h.probe, h.answer
	if procedure == 0 {
		h.probes = append(h.probes, time.Now())
		answer = nil
		if probe != nil {
			answer = func(ctx context.Context, call *oncrpc.Call) error { return failed(call, false, probe(ctx)) }
		}
	} else {
		h.calls = append(h.calls, call.XID())
	}
	h.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, call); err != nil {
			return nil, err
		}
	}
	return &call.Reply, nil
}

func (h *host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closes++
	return h.fail
}

// set changes the host.
func (h *host) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// got returns the number of Calls.
func (h *host) got() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.calls)
}

// failed returns the error of a Call, or nil if err is.
func failed(call *oncrpc.Call, ran bool, err error) error {
	if err == nil {
		return nil
	}
	return &oncrpc.CallError{XID: call.XID(), MayHaveRun: ran, Err: err}
}

// fails answers every Call with an error.
func fails(ran bool, err error) func(context.Context, *oncrpc.Call) error {
	return func(_ context.Context, call *oncrpc.Call) error { return failed(call, ran, err) }
}

// refuses fails every probe.
func refuses(context.Context) error { return errRefused }

// silent never answers.
func silent(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// hosts returns a Client of n hosts named a, b, c.
func hosts(t *testing.T, n int, cfg *carriers.ClientConfig) (*carriers.Client, []*host) {
	t.Helper()
	var list []*host
	var addrs []carriers.Address
	for i := range n {
		list = append(list, new(host))
		addrs = append(addrs, carriers.Address{Name: string(rune('a' + i)), Carrier: list[i]})
	}
	c, err := carriers.NewClient(addrs, cfg)
	must(t, err)
	return c, list
}

// newCall returns a Call of procedure 1.
func newCall(t testing.TB, c *carriers.Client) *oncrpc.Call {
	t.Helper()
	b, err := oncrpc.NewCall(c.XID(), program.Number, program.Version, 1, oncrpc.OpaqueAuth{}).AppendBinary(nil)
	must(t, err)
	return &oncrpc.Call{Message: oncrpc.Message{Inline: b}}
}

// do makes a Call.
func do(ctx context.Context, t testing.TB, c *carriers.Client) error {
	t.Helper()
	_, err := c.Call(ctx, newCall(t, c))
	return err
}

// states returns which addresses are up, as "a up 3, b down 0".
func states(c *carriers.Client) string {
	var text []string
	for _, a := range c.Stats().Addresses {
		text = append(text, fmt.Sprintf("%s %s %d", a.Name, map[bool]string{true: "up", false: "down"}[a.Up], a.Calls))
	}
	return strings.Join(text, ", ")
}

// bubble runs a test with the time of package synctest, and closes the Client at its end.
func bubble(t *testing.T, n int, cfg *carriers.ClientConfig, test func(t *testing.T, c *carriers.Client, list []*host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, list := hosts(t, n, cfg)
		test(t, c, list)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Each Call gets the address with the fewest Calls in progress.
func TestCallsGoWhereTheFewestAreInFlight(t *testing.T) {
	bubble(t, 3, nil, func(t *testing.T, c *carriers.Client, list []*host) {
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // all are up
		release := make([]chan struct{}, len(list))
		for i, h := range list {
			release[i] = make(chan struct{})
			h.set(func() {
				h.answer = func(context.Context, *oncrpc.Call) error { <-release[i]; return nil }
			})
		}
		var wg sync.WaitGroup
		begin := func(n int) {
			for range n {
				wg.Go(func() {
					if err := do(t.Context(), t, c); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		begin(6)
		if list[0].got() != 2 || list[1].got() != 2 || list[2].got() != 2 {
			t.Errorf("6 Calls: %s", states(c))
		}
		close(release[1])
		synctest.Wait()
		list[1].set(func() { release[1] = make(chan struct{}); list[1].answer = silently(release[1]) })
		begin(2)
		if list[1].got() != 4 {
			t.Errorf("2 Calls after b has answered: %s, expected that it gets them", states(c))
		}
		if s := c.Stats().Addresses[0]; s.InFlight != 2 {
			t.Errorf("found %+v, expected 2 in flight", s)
		}
		for _, r := range release {
			close(r)
		}
		wg.Wait()
	})
}

// silently answers after release.
func silently(release chan struct{}) func(context.Context, *oncrpc.Call) error {
	return func(context.Context, *oncrpc.Call) error { <-release; return nil }
}

// Calls follow the order of the list: a lost address is replaced by the next one, is tried again
// after pauses that double, and has the Calls again when it is up.
func TestFailoverAndReturn(t *testing.T) {
	var events []string
	var mu sync.Mutex
	cfg := &carriers.ClientConfig{Order: carriers.InOrder, Events: func(e carriers.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e.Address+map[bool]string{true: "+", false: "-"}[e.Up])
	}}
	bubble(t, 2, cfg, func(t *testing.T, c *carriers.Client, list []*host) {
		must(t, do(t.Context(), t, c))
		if states(c) != "a up 1, b down 0" || len(list[1].probes) != 0 {
			t.Errorf("%s: b was probed %d times, expected that nothing connects to it", states(c), len(list[1].probes))
		}
		list[0].set(func() { list[0].probe, list[0].answer, list[0].probes = refuses, fails(false, errRefused), nil })
		lost := time.Now()
		must(t, do(t.Context(), t, c))
		if states(c) != "a down 2, b up 1" || c.Stats().Retransmissions != 0 {
			t.Errorf("a was lost: %s", states(c))
		}
		time.Sleep(5 * time.Minute)
		list[0].mu.Lock()
		for i, at := range list[0].probes {
			pause := min(100*time.Millisecond<<i, 30*time.Second)
			if took := at.Sub(lost); took > pause || took < pause/2 {
				t.Errorf("probe %d came after %v, expected %v or up to half less", i, took, pause)
			}
			lost = at
		}
		n := len(list[0].probes)
		list[0].mu.Unlock()
		if n < 15 {
			t.Errorf("%d probes in 5 minutes", n)
		}
		list[0].set(func() { list[0].probe, list[0].answer = nil, nil })
		time.Sleep(time.Minute)
		must(t, do(t.Context(), t, c))
		s := c.Stats().Addresses[0]
		if states(c) != "a up 3, b up 1" || s.Losses != 1 || s.Reason != nil {
			t.Errorf("a is up again: %s, %+v", states(c), s)
		}
		list[0].set(func() { list[0].probe, list[0].answer, list[0].probes = refuses, fails(false, errRefused), nil })
		lost = time.Now()
		must(t, do(t.Context(), t, c))
		time.Sleep(time.Second)
		list[0].set(func() {
			if took := list[0].probes[0].Sub(lost); took > 100*time.Millisecond {
				t.Errorf("after a reply the first pause took %v", took)
			}
			list[0].probe, list[0].answer = nil, nil
		})
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if text := strings.Join(events, " "); !strings.HasPrefix(text, "a+ a- b+ a- a-") || !strings.HasSuffix(text, "a- a+") {
			t.Errorf("events: %s", text)
		}
	})
}

// A Call that may have run is not made on another address, unless it is idempotent. Then it keeps
// its XID, and Renew makes its message.
func TestACallThatMayHaveRunStays(t *testing.T) {
	for _, tt := range []struct {
		ran, idempotent bool
		retransmits     int
		elsewhere       bool
	}{
		{ran: false, elsewhere: true},
		{ran: false, idempotent: true, elsewhere: true},
		{ran: true},
		{ran: true, idempotent: true, elsewhere: true},
		{ran: true, idempotent: true, retransmits: -1},
		{ran: false, retransmits: -1, elsewhere: true},
	} {
		bubble(t, 2, &carriers.ClientConfig{Order: carriers.InOrder, Retransmits: tt.retransmits}, func(t *testing.T, c *carriers.Client, list []*host) {
			list[0].answer = fails(tt.ran, errReset)
			call := newCall(t, c)
			call.Idempotent = tt.idempotent
			renewed := 0
			call.Renew = func(context.Context) (oncrpc.Message, error) { renewed++; return call.Message, nil }
			_, err := c.Call(t.Context(), call)
			if list[0].got() != 1 || (list[1].got() == 1) != tt.elsewhere || tt.elsewhere != (err == nil) {
				t.Errorf("%+v: %s: %v", tt, states(c), err)
			}
			again := tt.ran && tt.elsewhere
			if c.Stats().Retransmissions != uint64(map[bool]int{true: 1}[again]) || (renewed == 1) != again {
				t.Errorf("%+v: %+v, renewed %d times", tt, c.Stats(), renewed)
			}
			if tt.elsewhere && list[0].calls[0] != list[1].calls[0] {
				t.Errorf("XIDs %#x and %#x", list[0].calls[0], list[1].calls[0])
			}
			failure, _ := errors.AsType[*oncrpc.CallError](err)
			at, named := errors.AsType[*carriers.AddressError](err)
			if err != nil && (!failure.MayHaveRun || !named || at.Address != "a" || !errors.Is(err, errReset)) {
				t.Errorf("%+v: %#v, expected that it may have run at a", tt, err)
			}
		})
	}
}

// Before any address was up, a Call fails when all have been tried, and later it waits. The error
// has the reason of each address.
func TestNoAddressIsUp(t *testing.T) {
	const text = "carriers: no address is up: a: connection refused; b: connection refused"
	down := func(list []*host, after time.Duration) {
		for _, h := range list {
			h.set(func() { h.probe, h.answer = refuses, fails(false, errRefused) })
			if after > 0 {
				time.AfterFunc(after, func() { h.set(func() { h.probe, h.answer = nil, nil }) })
			}
		}
	}
	for name, tt := range map[string]struct {
		cfg   carriers.ClientConfig
		first bool          // an address is up first
		up    time.Duration // they are up later; 0: never
		limit time.Duration // of the Call
		took  time.Duration // 0: until they are up; -1: no time
		want  string
	}{
		"first":                  {want: text, took: -1},
		"first, in order":        {cfg: carriers.ClientConfig{Order: carriers.InOrder}, want: text, took: -1},
		"wait for servers":       {cfg: carriers.ClientConfig{WaitForServer: true}, up: time.Minute},
		"later":                  {first: true, up: time.Minute},
		"later, context":         {first: true, limit: time.Second, took: time.Second, want: "carriers: no address is up (context deadline exceeded): a: connection refused; b: connection refused"},
		"later, MaxWait":         {cfg: carriers.ClientConfig{MaxWait: time.Minute}, first: true, took: time.Minute, want: text},
		"MaxWait is off":         {cfg: carriers.ClientConfig{MaxWait: -1}, first: true, took: -1, want: text},
		"off, but WaitForServer": {cfg: carriers.ClientConfig{MaxWait: -1, WaitForServer: true}, took: -1, want: text},
	} {
		cfg := tt.cfg
		bubble(t, 2, &cfg, func(t *testing.T, c *carriers.Client, list []*host) {
			if tt.first {
				must(t, do(t.Context(), t, c))
				synctest.Wait()
			}
			down(list, tt.up)
			ctx := t.Context()
			if tt.limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.limit)
				defer cancel()
			}
			start := time.Now()
			err := do(ctx, t, c)
			took := time.Since(start)
			if tt.want == "" {
				if err != nil || took < tt.up || took > tt.up+30*time.Second {
					t.Errorf("%s: %v after %v", name, err, took)
				}
				return
			}
			all, ok := errors.AsType[*carriers.DownError](err)
			if !ok || all.Error() != tt.want || took != max(tt.took, 0) || !errors.Is(err, errRefused) || errors.Is(err, context.DeadlineExceeded) != (tt.limit > 0) {
				t.Errorf("%s: %v after %v, expected %s after %v", name, err, took, tt.want, tt.took)
			}
		})
	}
}

// An address that does not answer takes its share of a Call's time, and no more.
func TestASilentAddressTakesItsShare(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		600 * time.Millisecond: 200 * time.Millisecond, // a third: there are two more addresses
		time.Hour:              time.Second,            // Patience
		0:                      time.Second,
	} {
		bubble(t, 2, &carriers.ClientConfig{Order: carriers.InOrder}, func(t *testing.T, c *carriers.Client, list []*host) {
			list[0].probe = silent
			ctx := t.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			start := time.Now()
			err := do(ctx, t, c)
			if took := time.Since(start); err != nil || took != want {
				t.Errorf("with %v: %v after %v, expected %v", limit, err, took, want)
			}
			if s := c.Stats().Addresses[0]; s.Up || s.Reason != nil {
				t.Errorf("%+v", s)
			}
			time.Sleep(5 * time.Second)
			if s := c.Stats().Addresses[0]; !errors.Is(s.Reason, context.DeadlineExceeded) {
				t.Errorf("found %+v, expected that the probe has failed after ProbeTimeout", s)
			}
		})
	}
}

// An address that answers no Call in time is probed, and is down if it does not answer that either.
func TestALateCallProbesItsAddress(t *testing.T) {
	for _, alive := range []bool{true, false} {
		bubble(t, 1, nil, func(t *testing.T, c *carriers.Client, list []*host) {
			must(t, do(t.Context(), t, c))
			list[0].set(func() {
				list[0].probes = nil
				list[0].answer = func(ctx context.Context, call *oncrpc.Call) error {
					<-ctx.Done()
					return failed(call, true, ctx.Err())
				}
				if !alive {
					list[0].probe = silent
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := do(ctx, t, c); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			synctest.Wait()
			if !c.Stats().Addresses[0].Up || len(list[0].probes) != 1 {
				t.Errorf("%s: %d probes", states(c), len(list[0].probes))
			}
			time.Sleep(5*time.Second + time.Millisecond)
			if s := c.Stats().Addresses[0]; s.Up != alive {
				t.Errorf("alive %v: %+v", alive, s)
			}
			stop, cancel := context.WithCancel(t.Context())
			cancel()
			if err := do(stop, t, c); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// An error of one Call says nothing about its address, and is not tried elsewhere.
func TestAnErrorOfACallIsNotOfItsAddress(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *carriers.Client, list []*host) {
		for _, h := range list {
			h.answer = fails(false, fmt.Errorf("too long: %w", oncrpc.ErrMessage))
		}
		if err := do(t.Context(), t, c); !errors.Is(err, oncrpc.ErrMessage) {
			t.Error(err)
		}
		synctest.Wait()
		if n := list[0].got() + list[1].got(); n != 1 || strings.Contains(states(c), "down") {
			t.Errorf("%s: %d tries", states(c), n)
		}
		if _, err := c.Call(t.Context(), nil); !errors.Is(err, oncrpc.ErrMessage) {
			t.Errorf("a nil Call: %v", err)
		}
	})
}

// A Call that fails everywhere although the addresses answer probes ends.
func TestACallIsNotTriedWithoutEnd(t *testing.T) {
	bubble(t, 2, nil, func(t *testing.T, c *carriers.Client, list []*host) {
		for _, h := range list {
			h.answer = fails(false, errReset)
		}
		err := do(t.Context(), t, c)
		if n := list[0].got() + list[1].got(); !errors.Is(err, errReset) || n != 8 {
			t.Errorf("%v after %d tries", err, n)
		}
	})
}

// Close fails Calls that wait, closes every Carrier once, and returns their
// errors.
func TestCloseFailsCallsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, list := hosts(t, 2, &carriers.ClientConfig{WaitForServer: true})
		for _, h := range list {
			h.probe = silent
		}
		list[1].fail = errReset
		waits := make(chan error, 2)
		go func() { waits <- do(t.Context(), t, c) }()
		go func() {
			if err := c.Submit(t.Context(), newCall(t, c), func(_ *oncrpc.Reply, err error) { waits <- err }); err != nil {
				waits <- err
			}
		}()
		synctest.Wait()
		for range 2 {
			err := c.Close()
			if err == nil || err.Error() != "b: connection reset" {
				t.Errorf("found %v, expected the error of b", err)
			}
		}
		for range 2 {
			if err := <-waits; !errors.Is(err, oncrpc.ErrClosed) {
				t.Error(err)
			}
		}
		if list[0].closes != 1 || list[1].closes != 1 {
			t.Errorf("closed %d and %d times", list[0].closes, list[1].closes)
		}
		if err := do(t.Context(), t, c); !errors.Is(err, oncrpc.ErrClosed) {
			t.Error(err)
		}
		if err := c.Submit(t.Context(), newCall(t, c), func(*oncrpc.Reply, error) { t.Error("done ran") }); !errors.Is(err, oncrpc.ErrClosed) {
			t.Error(err)
		}
	})
}

// A Call that is submitted goes to another address as others do.
func TestSubmittedCallsFailOver(t *testing.T) {
	bubble(t, 2, &carriers.ClientConfig{Order: carriers.InOrder}, func(t *testing.T, c *carriers.Client, list []*host) {
		ends := make(chan error, 1)
		for _, want := range []string{"a up 1, b down 0", "a down 2, b up 1", "a down 2, b up 2"} {
			if err := c.Submit(t.Context(), newCall(t, c), func(_ *oncrpc.Reply, err error) { ends <- err }); err != nil {
				t.Fatal(err)
			}
			if err := <-ends; err != nil || states(c) != want {
				t.Errorf("%v: %s, expected %s", err, states(c), want)
			}
			list[0].set(func() { list[0].probe, list[0].answer = refuses, fails(false, errRefused) })
		}
	})
}

// Wrong configurations are refused with the place.
func TestWrongConfigurationsAreRefused(t *testing.T) {
	one := []carriers.Address{{Name: "a", Carrier: new(host)}}
	for want, try := range map[string]func() (*carriers.Client, error){
		"needs an Address":               func() (*carriers.Client, error) { return carriers.NewClient(nil, nil) },
		`Address 0 ("b") has no Carrier`: func() (*carriers.Client, error) { return carriers.NewClient([]carriers.Address{{Name: "b"}}, nil) },
		"ClientConfig.Order is 7": func() (*carriers.Client, error) {
			return carriers.NewClient(one, &carriers.ClientConfig{Order: 7})
		},
		"MaxBackoff is 1s, less than MinBackoff, 1m0s": func() (*carriers.Client, error) {
			return carriers.NewClient(one, &carriers.ClientConfig{MinBackoff: time.Minute, MaxBackoff: time.Second})
		},
	} {
		if _, err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}
