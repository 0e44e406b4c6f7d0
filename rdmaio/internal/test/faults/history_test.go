package faults

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

var storms = flag.Int("storms", 12, "how many seeds TestHistoriesAreLinearizable runs over each provider")

// registers is a server of registers, with which clients swap values. Value, key and padding travel
// in each way that a message has.
type registers struct {
	t    testing.TB
	mu   sync.Mutex
	vals map[uint32]uint64
	runs map[uint64]int // by the value put: no two are the same
}

// swapBytes is the length of the opaque around a value, too long for any Send.
const swapBytes = 9000

// swapCall asks to put a value into a register; 0 means no value.
func swapCall(xid, key uint32, put uint64, inline bool) *rdmaio.Call {
	e := rpctest.CallHeader(xid, rpctest.ProcWrite)
	e.Words(key)
	data := make([]byte, swapBytes)
	call := new(rdmaio.Call)
	if inline {
		data = data[:12]
	} else {
		call.Results = [][]byte{make([]byte, swapBytes)}
	}
	binary.BigEndian.PutUint64(data[len(data)-8:], put)
	e.Opaque(rpctest.SiteWriteData, data)
	call.Message = e.Message()
	return call
}

func (g *registers) ServeRPC(r *rdmaio.Request) {
	m := r.Message
	key, put := binary.BigEndian.Uint32(m[40:]), binary.BigEndian.Uint64(m[len(m)-8:])
	g.mu.Lock()
	got := g.vals[key]
	if put != 0 {
		g.vals[key] = put
		g.runs[put]++
	}
	g.mu.Unlock()
	e := rpctest.ReplyHeader(binary.BigEndian.Uint32(m))
	data := make([]byte, len(m)-48)
	binary.BigEndian.PutUint64(data[len(data)-8:], got)
	e.Reduce = len(rpctest.WriteChunks(r)) > 0
	e.Opaque(rpctest.SiteReadData, data)
	r.Reply(e.Message(), func(error) { spoil(data); spoil(e.Buf) })
}

// swapped reads the answer.
func swapped(r *rdmaio.Reply) (uint64, error) {
	data := r.Message
	if len(r.Items) > 0 {
		data = r.Items[0].Data
	}
	if len(data) < 12 {
		return 0, fmt.Errorf("a reply of %d bytes", len(data))
	}
	return binary.BigEndian.Uint64(data[len(data)-8:]), nil
}

// swarm returns rates of faults for a seed; about half of the kinds have rate zero. Faults that
// only a timeout ends are used only in virtual time.
func swarm(seed uint64, tcp bool) fault.Config {
	r := rand.New(rand.NewPCG(seed, 3))
	cfg := fault.Config{Seed: seed, Rate: make(map[fault.Kind]float64)}
	most := map[fault.Kind]float64{
		fault.RefuseSend: 0.02, fault.RefuseRecv: 0.01, fault.RefuseRegister: 0.05, fault.RefuseAlloc: 0.02,
		fault.FailDial: 0.3, fault.FailAccept: 0.3, fault.Disconnect: 0.03, fault.DelayCompletion: 0.3, fault.FailCompletion: 0.02,
		fault.LoseCompletion: 0.01, fault.StallRead: 0.02, fault.LoseRecv: 0.005, fault.ShortRecv: 0.01,
		fault.FailInvalidate: 0.02, fault.RepeatNotify: 0.5, fault.DelayNotify: 0.3,
	}
	for _, k := range fault.Kinds() {
		silent := k == fault.LoseCompletion || k == fault.StallRead
		if r.IntN(2) == 0 && most[k] > 0 && !(silent && tcp) {
			cfg.Rate[k] = most[k] * r.Float64()
		}
	}
	return cfg
}

// T2, T121, T126, R284, R286, R288: clients of one server swap values of registers, over
// connections with all kinds of faults, and cancel some Calls. With a cache of replies each swap is
// executed at most once, and not at all if the error says so. The history of each register is
// linearizable: no reply belongs to another Call, or is older than its Call.
func TestHistoriesAreLinearizable(t *testing.T) {
	for _, provider := range []string{"mem", "rdmatcp", "iwarp"} {
		t.Run(provider, func(t *testing.T) {
			tcp := provider != "mem"
			var fired [32]uint64
			lost, some := 0, tcp && testing.Short() // a third of the seeds; over memory all
			for seed := range uint64(*storms) {
				if some && seed%3 != 0 {
					continue
				}
				inj := fault.New(swarm(seed, tcp))
				run := func(t *testing.T) {
					lost += storm(t, newFaultyWorld(t, provider, map[string]*fault.Injector{"client": inj, "server": inj}), seed)
				}
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					if tcp {
						run(t)
					} else {
						synctest.Test(t, run)
					}
				})
				for _, k := range fault.Kinds() {
					fired[k] += inj.Count(k).Fired
				}
			}
			for k := range swarmKinds(tcp) {
				if t.Logf("%6d x %v", fired[k], k); fired[k] == 0 && *storms >= 12 && !some {
					t.Errorf("%v never happened: the run proves nothing about it", k)
				}
			}
			if lost == 0 && *storms >= 12 && !some {
				t.Error("no Call was cancelled: the run proves nothing about cancelled ones")
			}
		})
	}
}

// The same in version 2, where values travel in several Sends.
func TestHistoriesOfVersion2AreLinearizable(t *testing.T) {
	for seed := range uint64(max(1, *storms/2)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inj := fault.New(swarm(seed, false))
				w := newFaultyWorld(t, "mem", map[string]*fault.Injector{"client": inj, "server": inj})
				w.Versions = []int{2}
				storm(t, w, seed)
			})
		})
	}
}

// swarmKinds are those that some seed has.
func swarmKinds(tcp bool) map[fault.Kind]bool {
	all := make(map[fault.Kind]bool)
	for seed := range uint64(64) {
		for k := range swarm(seed, tcp).Rate {
			all[k] = true
		}
	}
	return all
}

// storm is a run with one seed. It returns how many operations were given up.
func storm(t *testing.T, w *rdmaiotest.World, seed uint64) (lost int) {
	const clients, callers, rounds, keys, ops = 2, 3, 6, 2, 8
	g := &registers{t: t, vals: make(map[uint32]uint64), runs: make(map[uint64]int)}
	work, ends := 200*time.Millisecond, int(seed%2)*2-1 // whether the server invalidates keys
	w.Serve(replycache.New(g, &replycache.Config{Client: func(r *rdmaio.Request) string { return "all: no two use one XID" }}),
		&rdmaio.Config{Credits: 4, WorkTimeout: work, RemoteInvalidate: ends})
	var all [clients]*rdmaio.Client
	for i := range all {
		all[i] = rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
			Conn: &rdmaio.Config{WorkTimeout: work, RemoteInvalidate: ends}, Retransmits: 1000,
			MinBackoff: time.Millisecond, MaxBackoff: 4 * time.Millisecond, StuckTimeout: 50 * time.Millisecond,
		})
	}
	var mu sync.Mutex
	moment, put := 0, uint64(0)
	outcome := make(map[uint64]int) // by value: its executions; -1: at most one
	for round := range uint32(rounds) {
		history := make(map[uint32][]rdmaiotest.Swap)
		var wg sync.WaitGroup
		for n := range clients * callers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(round)<<8|uint64(n)))
				for range ops {
					key := round*keys + r.Uint32N(keys)
					mu.Lock()
					moment++
					put++
					op := rdmaiotest.Swap{Begin: moment, Put: put, Read: r.IntN(3) == 0}
					mu.Unlock()
					value := op.Put
					if op.Read {
						value = 0
					}
					ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
					if r.IntN(12) == 0 { // no patience
						cancel()
						ctx, cancel = context.WithTimeout(context.Background(), time.Duration(r.IntN(3000))*time.Microsecond)
					}
					reply, err := all[n%clients].Call(ctx, swapCall(uint32(op.Put), key, value, r.IntN(2) == 0))
					if err == nil {
						op.Got, err = swapped(reply)
					}
					cancel()
					var ce *rdmaio.CallError
					told := 1
					switch {
					case err == nil:
					case !errors.As(err, &ce):
						t.Error(err)
					case ce.MayHaveRun:
						op.Lost, told = true, -1
					default:
						told = 0
					}
					mu.Lock()
					moment++
					op.End = moment
					if !op.Read {
						outcome[op.Put] = told
					}
					if told != 0 {
						history[key] = append(history[key], op)
					}
					if op.Lost {
						lost++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for key, h := range history {
			if !rdmaiotest.Linearizable(h) {
				t.Errorf("register %d has no order of its operations: %+v", key, h)
			}
		}
	}
	for _, c := range all {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for value, told := range outcome {
		if n := g.runs[value]; n > 1 || told >= 0 && n != told {
			t.Errorf("swap %d was executed %d times, the caller's count is %d (-1: unknown)", value, n, told)
		}
	}
	return lost
}
