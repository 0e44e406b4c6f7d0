package mem_test

import (
	"errors"
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

// strictPair opens two devices of a strict network, and logs its seed.
func strictPair(t testing.TB, cfg mem.Config) (n *mem.Network, client, server *mem.Device) {
	t.Helper()
	cfg.Strict = true
	n = mem.New(&cfg)
	t.Logf("seed %d", n.Seed())
	for name, d := range map[string]**mem.Device{"client": &client, "server": &server} {
		var err error
		if *d, err = n.Open(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	return n, client, server
}

// Strict devices pass the suite, with another seed in each case.
func TestAcceptanceStrict(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		_, client, server := strictPair(t, mem.Config{RegisterDelay: -1})
		return verbstest.Fabric{Client: client, Server: server, Addr: "here", Precise: true, UnknownCause: true, Remove: remove}
	})
}

// The attributes of a strict device say what it does differently. Without Strict they say nothing.
func TestStrictAttributes(t *testing.T) {
	n, client, _ := strictPair(t, mem.Config{})
	a := client.Attributes()
	if !a.PaddedPrivateData || !a.GuessableKeys || !a.InvalidateWindowsOnly || a.HeapMemory || a.MaxPrivateData != 56 || !a.RemoteInvalidate || n.Seed() == 0 {
		t.Errorf("strict: %+v, seed %d", a, n.Seed())
	}
	if again, _, _ := strictPair(t, mem.Config{Seed: 77}); again.Seed() != 77 {
		t.Errorf("seed %d, want 77", again.Seed())
	}
	n, client, _ = openPair(t)
	a = client.Attributes()
	if a.PaddedPrivateData || a.GuessableKeys || a.InvalidateWindowsOnly || !a.HeapMemory || a.MaxPrivateData != 196 || n.Seed() != 0 {
		t.Errorf("without Strict: %+v, seed %d", a, n.Seed())
	}
}

// A registration takes RegisterDelay, 100 us by default.
func TestStrictRegistrationTakesTime(t *testing.T) {
	for delay, want := range map[time.Duration]time.Duration{0: 100 * time.Microsecond, time.Second: time.Second, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			_, dev, _ := strictPair(t, mem.Config{RegisterDelay: delay})
			pd, err := dev.AllocPD()
			if err != nil {
				t.Fatal(err)
			}
			buf, err := pd.Alloc(64)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			mr, err := pd.RegisterMemory(buf, verbs.AccessRemoteRead)
			if took := time.Since(start); err != nil || took != want {
				t.Errorf("delay %v: a registration took %v, want %v (%v)", delay, took, want, err)
			}
			if err := errors.Join(mr.Deregister(), pd.Free(buf), pd.Close(), dev.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Code that registers a Go slice works over software, and fails over hardware. A strict network
// shows it without any.
func ExampleConfig_strict() {
	register := func(cfg *mem.Config) error {
		dev, err := mem.New(cfg).Open("client", nil)
		if err != nil {
			log.Fatal(err)
		}
		pd, err := dev.AllocPD()
		if err != nil {
			log.Fatal(err)
		}
		mr, err := pd.RegisterMemory(make([]byte, 4096), verbs.AccessRemoteRead)
		if err != nil {
			return err
		}
		return errors.Join(mr.Deregister(), pd.Close(), dev.Close())
	}
	fmt.Println(register(nil))
	fmt.Println(errors.Is(register(&mem.Config{Strict: true}), verbs.ErrNotSupported))
	// Output:
	// <nil>
	// true
}
