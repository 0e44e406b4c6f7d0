package fault_test

import (
	"flag"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

var seeds = flag.Int("manners", 3, "random sets of manners with which the acceptance suite runs")

// accept runs the acceptance suite over devices with manners.
func accept(t *testing.T, m fault.Manners, seed uint64) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		n := mem.New(&mem.Config{AllocOnly: m&fault.Plain != 0})
		inj := fault.New(fault.Config{Manners: m, Seed: seed, RegisterDelay: 10 * time.Microsecond})
		open := func(name string) verbs.Device {
			d, err := n.Open(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			return removable{inj.Device(d), d}
		}
		return verbstest.Fabric{
			Client: open("client"), Server: open("server"), Addr: "here",
			Precise: m&fault.UnnoticedSend == 0, UnknownCause: m&fault.UnknownCause != 0,
			Remove: func(d verbs.Device) { d.(removable).inner.Remove() },
		}
	})
}

// removable is a wrapped device that the suite can remove.
type removable struct {
	verbs.Device
	inner *mem.Device
}

// A provider with any of the manners that package verbs allows passes the acceptance suite.
func TestAcceptanceWithManners(t *testing.T) {
	sets := []fault.Manners{fault.Allowed}
	for m := fault.Manners(1); m&fault.Allowed != 0 && !testing.Short(); m <<= 1 {
		sets = append(sets, m)
	}
	for _, m := range sets {
		t.Run(m.String(), func(t *testing.T) { accept(t, m, 1) })
	}
	for i := range *seeds {
		if testing.Short() && i > 0 {
			break
		}
		seed := uint64(time.Now().UnixNano()) + uint64(i)
		m := fault.SomeManners(seed)
		t.Run(fmt.Sprintf("seed %d %v", seed, m), func(t *testing.T) { accept(t, m, seed) })
	}
}

// Random sets differ, have no manner that a provider must hide, and have each other one sometimes.
func TestSomeMannersAreAllowed(t *testing.T) {
	var all fault.Manners
	number := 0
	for seed := range uint64(200) {
		m := fault.SomeManners(seed)
		if m != fault.SomeManners(seed) || m&^fault.Allowed != 0 {
			t.Fatalf("seed %d: %v", seed, m)
		}
		all |= m
		number += bits.OnesCount16(uint16(m))
	}
	if want := 100 * bits.OnesCount16(uint16(fault.Allowed)); all != fault.Allowed || number < want*9/10 || number > want*11/10 {
		t.Errorf("200 sets have %d manners, want about %d; among them %v", number, want, all)
	}
	if s := (fault.Plain | fault.LateReads | 1<<14).String(); s != "plain|late-reads|0x4000" || fault.Manners(0).String() != "none" {
		t.Errorf("names: %q, %v", s, fault.Manners(0))
	}
}
