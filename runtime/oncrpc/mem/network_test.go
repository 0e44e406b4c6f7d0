package mem_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

var program = oncrpc.Program{Number: 400003, Version: 1}

// account is a service whose procedure 1 adds its argument to the sum and returns the sum, after a
// second if the argument is 1.
type account struct {
	mu   sync.Mutex
	sum  oncrpc.Uint32
	adds int
}

func (a *account) handler() *rpc.Handler {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		if *args == 1 {
			time.Sleep(time.Second)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.adds++
		a.sum += *args
		*res = a.sum
		return nil
	})
	return rpc.NewHandler(nil, svc)
}

// open makes a network and a client, which are closed by the function.
func open(t *testing.T, h oncrpc.Handler, fault func(mem.Record) mem.Fault) (*mem.Network, *tcp.Client, func()) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	n, err := mem.NewNetwork(h, &mem.NetworkConfig{Server: &tcp.Config{FirstCallTimeout: -1, Logger: quiet}, Fault: fault})
	if err != nil {
		t.Fatal(err)
	}
	c, err := n.NewClient(&tcp.ClientConfig{Retransmits: 100})
	if err != nil {
		t.Fatal(err)
	}
	return n, c, func() {
		if err := errors.Join(c.Close(), n.Close()); err != nil {
			t.Error(err)
		}
	}
}

// add calls procedure 1.
func add(t *testing.T, c oncrpc.Carrier, n oncrpc.Uint32) oncrpc.Uint32 {
	t.Helper()
	var res oncrpc.Uint32
	if err := rpc.NewClient(c, program, nil).Call(context.Background(), 1, &n, &res, nil); err != nil {
		t.Error(err)
	}
	return res
}

// A network without faults is a carrier like all others.
func TestNetworkCarrier(t *testing.T) {
	carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
		quiet := slog.New(slog.DiscardHandler)
		n, err := mem.NewNetwork(server, &mem.NetworkConfig{Server: &tcp.Config{Logger: quiet}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := n.Dial(context.Background(), "", &tcp.Config{ReverseHandler: client, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(c.Close(), n.Close()); err != nil {
				t.Error(err)
			}
		})
		return c
	})
}

// A service that executes some Calls twice is found: with faults of each kind, the sum is right
// with a reply cache in front of the service, and wrong without one (R288).
func TestFaultsFindBugs(t *testing.T) {
	const seeds, calls = 30, 25
	var fired [mem.Kinds]int
	wrong := 0
	for seed := range uint64(seeds) {
		for _, cached := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				a := new(account)
				h := oncrpc.Handler(a.handler())
				if cached {
					h = replycache.New(h, nil)
				}
				n, c, end := open(t, h, mem.Random(seed, 0.3))
				var wg sync.WaitGroup
				want := oncrpc.Uint32(0)
				for i := range oncrpc.Uint32(calls) {
					want += i
					if i%2 == 0 {
						add(t, c, i)
					} else {
						wg.Go(func() { add(t, c, i) })
					}
				}
				wg.Wait()
				end() // no Call is executed any more
				switch {
				case a.sum == want && a.adds == calls:
				case cached:
					t.Errorf("seed %d: %d additions make %d, want %d, %d", seed, a.adds, a.sum, calls, want)
				default:
					wrong++
				}
				for k := range mem.Kinds {
					fired[k] += n.Fired(k)
				}
			})
		}
	}
	if wrong < seeds/2 {
		t.Errorf("without a reply cache the sum was wrong for %d of %d seeds", wrong, seeds)
	}
	for k := range mem.Kinds {
		if fired[k] < seeds {
			t.Errorf("%v: %d faults", k, fired[k])
		}
	}
}

// at has a fault at one record of the first connection.
func at(reply bool, number int, f mem.Fault) func(mem.Record) mem.Fault {
	return func(r mem.Record) mem.Fault {
		if r.Conn == 0 && r.Reply == reply && r.Number == number {
			return f
		}
		return mem.Fault{}
	}
}

// Each kind of fault does what it says, at the record that a test names.
func TestFaultKinds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(mem.Record) mem.Fault
		adds  int // that the service executes for 2 calls
		conns uint64
		took  time.Duration
	}{
		{"none", nil, 2, 1, 0},
		{"a Call lost", at(false, 1, mem.Fault{Kind: mem.Lose}), 2, 2, 0},
		{"a Call lost later at the server", at(false, 1, mem.Fault{Kind: mem.Lose, Delay: time.Minute}), 2, 2, 0},
		{"a Call cut", at(false, 1, mem.Fault{Kind: mem.Cut, Bytes: 43}), 2, 2, 0},
		{"a Call cut after its end", at(false, 1, mem.Fault{Kind: mem.Cut, Bytes: 1000}), 3, 2, 0},
		{"a Call answered in vain", at(false, 1, mem.Fault{Kind: mem.LoseAfter}), 3, 2, 0},
		{"a Call repeated", at(false, 1, mem.Fault{Kind: mem.Repeat}), 3, 1, 0},
		{"a Call in fragments", at(false, 1, mem.Fault{Kind: mem.Split}), 2, 1, 0},
		{"a Call held back", at(false, 1, mem.Fault{Kind: mem.Hold, Delay: time.Second}), 2, 1, time.Second},
		{"a Call not read", at(false, 1, mem.Fault{Kind: mem.Stall, Delay: time.Second}), 2, 1, time.Second},
		{"a reply lost", at(true, 1, mem.Fault{Kind: mem.Lose}), 3, 2, 0},
		{"a reply cut", at(true, 1, mem.Fault{Kind: mem.Cut, Bytes: 5}), 3, 2, 0},
		{"the end after a reply", at(true, 1, mem.Fault{Kind: mem.LoseAfter}), 2, 1, 0},
		{"a reply repeated", at(true, 1, mem.Fault{Kind: mem.Repeat}), 2, 1, 0},
		{"a reply in fragments", at(true, 1, mem.Fault{Kind: mem.Split}), 2, 1, 0},
		{"a reply held back", at(true, 1, mem.Fault{Kind: mem.Hold, Delay: time.Second}), 2, 1, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := new(account)
			_, c, end := open(t, a.handler(), tt.fault)
			start := time.Now()
			add(t, c, 2)
			add(t, c, 3)
			took := time.Since(start)
			synctest.Wait()
			if st := c.Stats(); a.adds != tt.adds || st.Connects != tt.conns || took != tt.took {
				t.Errorf("%s: %d additions, %v; %+v", tt.name, a.adds, took, st)
			}
			end()
		})
	}
}

// A record that is held back is overtaken: replies come in another order.
func TestHeldRecordIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(account)
		_, c, end := open(t, a.handler(), at(true, 0, mem.Fault{Kind: mem.Hold, Delay: time.Second}))
		first := make(chan oncrpc.Uint32)
		go func() { first <- add(t, c, 2) }()
		synctest.Wait()
		if sum := add(t, c, 3); sum != 5 {
			t.Errorf("the second sum is %d", sum)
		}
		select {
		case <-first:
			t.Error("the first reply was not held back")
		default:
		}
		if sum := <-first; sum != 2 {
			t.Errorf("the first sum is %d", sum)
		}
		end()
	})
}

// A network that does not read for longer than SendTimeout ends the connection (tcp.ErrTimeout).
func TestStalledNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(account)
		n, c, end := open(t, a.handler(), at(false, 0, mem.Fault{Kind: mem.Stall, Delay: time.Hour}))
		conn, err := n.Dial(context.Background(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() { // goes out, and takes the attention of the network
			var res oncrpc.Uint32
			_ = rpc.NewClient(conn, program, nil).Call(context.Background(), 1, new(oncrpc.Uint32), &res, nil)
		}()
		synctest.Wait()
		err = rpc.NewClient(conn, program, nil).Call(context.Background(), 1, new(oncrpc.Uint32), new(oncrpc.Uint32), nil)
		if !errors.Is(err, tcp.ErrTimeout) {
			t.Errorf("found %v, want ErrTimeout", err)
		}
		add(t, c, 2) // on another connection
		_ = conn.Close()
		end()
	})
}

// Random depends on the seed and the place of a record alone, and has each kind.
func TestRandomDependsOnSeedAndPlace(t *testing.T) {
	places := func(seed uint64) (all []mem.Fault) {
		fault := mem.Random(seed, 0.5)
		for conn := range 10 {
			for n := range 20 {
				all = append(all, fault(mem.Record{Conn: conn, Number: n, Message: make([]byte, 40)}),
					fault(mem.Record{Conn: conn, Number: n, Reply: true, Message: make([]byte, 40)}))
			}
		}
		return all
	}
	first, again, other := places(1), places(1), places(2)
	same, counts := 0, map[mem.Kind]int{}
	for i, f := range first {
		if f != again[i] {
			t.Errorf("place %d: %+v, then %+v", i, f, again[i])
		}
		if f == other[i] {
			same++
		}
		counts[f.Kind]++
	}
	if same > len(first)/2 {
		t.Errorf("%d of %d faults are the same for another seed", same, len(first))
	}
	for k := range mem.Kinds {
		if counts[k] < 10 {
			t.Errorf("%v: %d of %d", k, counts[k], len(first))
		}
	}
}

// There is no network without a server's Handler, and no connection of a closed one.
func TestClosedNetwork(t *testing.T) {
	if n, err := mem.NewNetwork(nil, nil); err == nil {
		t.Errorf("found %v", n)
	}
	n, _, end := open(t, new(account).handler(), nil)
	end()
	if _, err := n.Dial(context.Background(), "", nil); !errors.Is(err, oncrpc.ErrClosed) {
		t.Error(err)
	}
}
