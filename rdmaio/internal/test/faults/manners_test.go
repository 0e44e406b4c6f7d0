package faults

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

var mannersSeed = flag.Uint64("manners.seed", 0, "first `seed` of the tests with manners of RDMA devices; if zero, a random one")

// manners runs a test with random manners of RDMA devices, whose seeds are in its name: those
// that package verbs allows, and two that a transport must bear although a provider may not have
// them.
func manners(t *testing.T, n int, test func(t *testing.T, seed uint64, m fault.Manners)) {
	first := *mannersSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	for i := range uint64(n) {
		seed := first + i
		m := fault.SomeManners(seed)
		for k, beyond := range [...]fault.Manners{fault.LostSolicited, fault.UnreportedInvalidate} {
			if seed>>k&1 != 0 {
				m |= beyond
			}
		}
		t.Run(fmt.Sprintf("%d %v", seed, m), func(t *testing.T) { test(t, seed, m) })
	}
}

// mannered returns a World whose devices have the faults and manners of one injector.
func mannered(t *testing.T, provider string, inj *fault.Injector) *rdmaiotest.World {
	return newFaultyWorld(t, provider, map[string]*fault.Injector{"client": inj, "server": inj})
}

// showed checks that each of the manners has had an effect.
func showed(t *testing.T, inj *fault.Injector, m fault.Manners) {
	t.Helper()
	for k := fault.Manners(1); k <= m; k <<= 1 {
		if m&k != 0 && inj.Happened(k) == 0 {
			t.Errorf("%v had no effect: the run proves nothing about it", k)
		}
	}
}

// revoking returns the fault.Config.Revoke of a test. With half of the seeds queue pairs are
// Revokers, whose reports come at once or up to four milliseconds later.
func revoking(seed uint64) func(end func()) {
	if seed&2 != 0 {
		return nil
	}
	var n atomic.Uint64
	return func(end func()) {
		if late := n.Add(1) * seed % 5; late > 0 {
			time.AfterFunc(time.Duration(late)*time.Millisecond, end)
		} else {
			end()
		}
	}
}

// Files survive devices with the manners of hardware: no Call fails, and no byte is wrong.
func TestFileSurvivesManners(t *testing.T) {
	for _, provider := range []string{"mem", "rdmatcp", "iwarp"} {
		manners(t, 1, func(t *testing.T, seed uint64, m fault.Manners) {
			t.Logf("over %s", provider)
			inj := fault.New(fault.Config{Manners: m, Seed: seed, RegisterDelay: time.Microsecond, Revoke: revoking(seed)})
			w := mannered(t, provider, inj)
			if seed&4 != 0 {
				w.Versions = []int{2}
			}
			fileIntegrity(t, w, 300)
			showed(t, inj, m&(fault.PaddedPrivateData|fault.GuessableKeys|fault.SlowRegister|fault.LateCause|fault.ShuffledWrites))
		})
	}
}

// T2, R284, R288: histories are linearizable with all faults, and the manners of hardware besides.
func TestHistoriesSurviveManners(t *testing.T) {
	manners(t, max(1, *storms/2), func(t *testing.T, seed uint64, m fault.Manners) {
		synctest.Test(t, func(t *testing.T) {
			cfg := swarm(seed, false)
			cfg.Manners, cfg.Revoke = m, revoking(seed)
			w := mannered(t, "mem", fault.New(cfg))
			if seed&4 != 0 {
				w.Versions = []int{2}
			}
			storm(t, w, seed)
		})
	})
}

// Each manner alone, and all together: Calls of all shapes succeed, in both directions. Manners
// that no provider may have cost the connection at most: memory and executions are as reported.
func TestCallsSurviveEachManner(t *testing.T) {
	const bears = fault.Allowed | fault.LostSolicited | fault.UnreportedInvalidate
	sets := []fault.Manners{bears, bears | fault.LateReads | fault.SendsBeforeReads}
	for m := fault.Manners(1); m <= fault.LateReads; m <<= 1 {
		sets = append(sets, m)
	}
	for _, m := range sets {
		for _, provider := range []string{"mem", "rdmatcp", "iwarp"} {
			t.Run(fmt.Sprintf("%v/%s", m, provider), func(t *testing.T) {
				inj := fault.New(fault.Config{Manners: m, Seed: 1})
				v := calls(t, mannered(t, provider, inj), 10*time.Second, 0)
				if v.failed > 0 && m&^bears == 0 {
					t.Errorf("%d Calls failed", v.failed)
				}
				showed(t, inj, m&(fault.PaddedPrivateData|fault.GuessableKeys|fault.SlowRegister|fault.LateCause|fault.UnreportedInvalidate))
			})
		}
	}
}

// The same over the devices that package mem offers to tests, with both versions.
func TestCallsWorkOverStrictMemory(t *testing.T) {
	for _, version := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.NewWith(t, rdmaiotest.Options{Strict: uint64(version), Versions: []int{version}})
			if v := calls(t, w, 10*time.Second, 0); v.failed > 0 {
				t.Errorf("version %d: %d Calls failed", version, v.failed)
			}
		})
	}
}

// A device with few regions refuses connections or Calls. It keeps no memory and no key.
func TestFewRegionsCostNoMemory(t *testing.T) {
	failed := 0
	for most := 1; ; most++ {
		inj := fault.New(fault.Config{MaxRegions: most})
		var v *victim
		synctest.Test(t, func(t *testing.T) { v = calls(t, mannered(t, "mem", inj), 10*time.Second, 0) })
		if v.failed == 0 {
			if failed < most {
				t.Errorf("%d regions are enough, and fewer led to %d failures", most, failed)
			}
			return
		}
		if failed += v.failed; most == 1000 {
			t.Fatal("1000 regions are not enough")
		}
	}
}

// bounded is a device that keeps QPConfig.MaxBoundMRs of its queue pairs.
type bounded struct {
	verbs.Device
	seen *[]int
}

func (d bounded) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	return boundedPD{pd, d.seen}, err
}

type boundedPD struct {
	verbs.ProtectionDomain
	seen *[]int
}

func (pd boundedPD) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	*pd.seen = append(*pd.seen, cfg.MaxBoundMRs)
	return pd.ProtectionDomain.CreateQP(cfg)
}

// A queue pair is made for two regions of each Call of its side: what the peer reads, and where it
// writes. A side without Calls needs none, which is not the default of 0.
func TestQueuePairsAreMadeForTheRegionsOfCalls(t *testing.T) {
	for name, tt := range map[string]struct{ reverse, client, server int }{"one way": {0, 14, 1}, "both ways": {3, 14, 6}} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]*[]int{"client": new([]int), "server": new([]int)}
			w := rdmaiotest.NewWith(t, rdmaiotest.Options{Bare: true, Wrap: func(name string, d verbs.Device) verbs.Device { return bounded{d, seen[name]} }})
			h := rdmaio.HandlerFunc(func(r *rdmaio.Request) { rpctest.Answer(r) })
			cfg := &rdmaio.Config{Credits: 7, ReverseCredits: tt.reverse}
			if tt.reverse > 0 {
				cfg.ReverseHandler = h
			}
			w.Serve(h, cfg)
			c, err := rdmaio.Dial(t.Context(), w.Client, w.Addr, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if got := [2][]int{*seen["client"], *seen["server"]}; !slices.Equal(got[0], []int{tt.client}) || !slices.Equal(got[1], []int{tt.server}) {
				t.Errorf("bound %v, want %d and %d", got, tt.client, tt.server)
			}
		})
	}
}

// R264, R265, T80: on a device that cannot deny it, a peer invalidates a key although that was not
// agreed. If the device reports it, the connection is closed. If not, the Call continues: its key
// is invalid, as it would be in the end, and its memory is the caller's.
func TestPeerInvalidatesAnyKeyOfADevice(t *testing.T) {
	for m, reported := range map[fault.Manners]bool{fault.WindowsOnly: true, fault.WindowsOnly | fault.UnreportedInvalidate: false} {
		t.Run(m.String(), func(t *testing.T) {
			inj := fault.New(fault.Config{Manners: m})
			w := newFaultyWorld(t, "mem", map[string]*fault.Injector{"client": inj})
			p, c := rdmaiotest.DialRaw(w, &rdmaio.Config{RemoteInvalidate: -1})
			for i := range uint32(3) { // the region is used again
				call := rpctest.NullCall(7+i, 40)
				call.ReplyBuf = make([]byte, 4096)
				done := make(chan error, 1)
				go func() {
					_, err := c.Call(t.Context(), call)
					done <- err
				}()
				got := p.Message(peertest.Patience)
				o := peertest.ReadOffers(t, got)
				p.SendInvalidate(peertest.UnusedReply(got, &o, rpctest.ReplyBytes(7+i, 40)), o.Reply[0].Key)
				err := <-done
				if (err != nil) != reported || reported && !errors.Is(err, rdmaio.ErrInvalidated) {
					t.Errorf("Call %d: %v", i, err)
				}
				if _, n := w.LiveKeys("client"); n > 0 {
					t.Errorf("%d keys are valid after the Call", n)
				}
				if err != nil {
					break
				}
			}
			showed(t, inj, m)
		})
	}
}
