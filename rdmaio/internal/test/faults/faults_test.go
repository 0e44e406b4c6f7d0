package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// newFaultyWorld is a world with faults below the trace: the oracle sees what the transport sees.
func newFaultyWorld(t testing.TB, provider string, faults map[string]*fault.Injector) *rdmaiotest.World {
	t.Helper()
	o := rdmaiotest.Options{Wrap: func(name string, d verbs.Device) verbs.Device {
		if inj := faults[name]; inj != nil {
			return inj.Device(d)
		}
		return d
	}}
	switch provider {
	case "rdmatcp":
		o.TCP = &rdmatcp.Config{ReceiveTimeout: 20 * time.Millisecond}
	case "iwarp":
		o.IWARP = &iwarp.Config{ReceiveTimeout: 20 * time.Millisecond, MULPDU: 1442, FirstDelay: -1}
	}
	return rdmaiotest.NewWith(t, o)
}

// tally is a file server that counts the executed Calls, and overwrites the memory of an answer as
// soon as the transport releases it.
type tally struct {
	rpctest.File
	mu    sync.Mutex
	runs  map[uint32]int
	given int // Requests, and how many of them came back
	back  int
}

func (h *tally) ServeRPC(r *rdmaio.Request) {
	xid := binary.BigEndian.Uint32(r.Message)
	h.mu.Lock()
	h.runs[xid]++
	h.given++
	h.mu.Unlock()
	m := h.Serve(r)
	if len(r.Message) == longCall {
		m.Inline = append(m.Inline, rdmaiotest.Pattern(longReply, 5)...)
	}
	for i := range m.Items {
		m.Items[i].Data = bytes.Clone(m.Items[i].Data)
	}
	once := 0
	r.Reply(m, func(error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.back++
		if once++; once > 1 {
			h.T.Error("a Request came back twice")
		}
		spoil(m.Inline)
		for _, it := range m.Items {
			spoil(it.Data)
		}
	})
}

// A Call of longCall bytes has a reply with longReply bytes after its header: both are too long for
// any Send.
const longCall, longReply = 3000, 2000

// spoil overwrites memory that its owner has back.
func spoil(b []byte) {
	for i := range b {
		b[i] = 0xee
	}
}

// spoiled reports whether the content is still what spoil wrote.
func spoiled(b []byte) bool { return len(bytes.Trim(b, "\xee")) == 0 }

// victim makes Calls while faults are injected, and checks the guarantees that hold nevertheless:
// after each Call its keys are invalid and its memory is the caller's; the error reports correctly
// whether it may have been executed.
type victim struct {
	t      testing.TB
	w      *rdmaiotest.World
	h      *tally
	wait   time.Duration // for each Call
	mine   [][]byte      // memory of Calls that are over
	mayRun map[uint32]int
	failed int
	xid    uint32
}

// The Calls made: everything that the transport does to memory is in them.
const (
	small = iota
	write
	read
	long       // both ways
	readChunks // its reply goes by read chunks (Config.Legacy)
)

// do makes one of them, from a device.
func (v *victim) do(c *rdmaio.Conn, device string, shape int) {
	v.xid++
	data, buf := rdmaiotest.Pattern(5000, uint64(v.xid)), make([]byte, 4000)
	var call *rdmaio.Call
	switch shape {
	case small:
		call = rpctest.NullCall(v.xid, 40)
	case write:
		call = rpctest.WriteCall(v.xid, 0, data)
	case read:
		call = rpctest.ReadCall(v.xid, 0, buf)
	case long, readChunks:
		call = rpctest.NullCall(v.xid, longCall)
		if shape == long {
			call.ReplyBuf = make([]byte, 24+longReply)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), v.wait)
	defer cancel()
	reply, err := c.Call(ctx, call)
	if _, n := v.w.LiveKeys(device); n > 0 {
		v.t.Errorf("Call %d returned %v with %d keys to its memory", shape, err, n)
	}
	var ce *rdmaio.CallError
	switch {
	case err == nil:
		v.mayRun[v.xid] = 1
		v.right(shape, reply, call)
	case !errors.As(err, &ce):
		v.t.Errorf("Call %d: %v is no CallError", shape, err)
	default:
		v.failed++
		v.mayRun[v.xid] = 0
		if ce.MayHaveRun {
			v.mayRun[v.xid] = -1
		}
	}
	for _, b := range [][]byte{data, buf, call.ReplyBuf} {
		spoil(b)
		v.mine = append(v.mine, b)
	}
}

// right compares a reply with what it has to be.
func (v *victim) right(shape int, reply *rdmaio.Reply, call *rdmaio.Call) {
	switch shape {
	case read:
		if got, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(got, rdmaiotest.Pattern(4000, 9)) && !bytes.Equal(got, rdmaiotest.Pattern(5000, uint64(v.xid-1))[:4000]) {
			v.t.Errorf("READ: %d bytes, %v, and not those that were written", len(got), err)
		}
	case long, readChunks:
		if len(reply.Message) != 24+longReply || !bytes.Equal(reply.Message[24:], rdmaiotest.Pattern(longReply, 5)) {
			v.t.Errorf("long reply of %d bytes", len(reply.Message))
		}
	}
	if got := binary.BigEndian.Uint32(reply.Message); got != v.xid {
		v.t.Errorf("the reply to %d is %d's", v.xid, got)
	}
}

// verdict is for when both ends are closed.
func (v *victim) verdict() {
	v.h.mu.Lock()
	defer v.h.mu.Unlock()
	for xid, may := range v.mayRun {
		if n := v.h.runs[xid]; n > 1 || may >= 0 && n != may {
			v.t.Errorf("Call %d was executed %d times; the caller's count is %d (-1: unknown)", xid, n, may)
		}
	}
	if v.h.given != v.h.back {
		v.t.Errorf("%d Requests, %d came back", v.h.given, v.h.back)
	}
	for _, b := range v.mine {
		if !spoiled(b) {
			v.t.Error("memory of a Call was written to when it was its caller's again")
		}
	}
}

// calls connects, makes each of the Calls, and closes both ends, with any injected faults.
func calls(t testing.TB, w *rdmaiotest.World, wait, work time.Duration) *victim {
	v := &victim{t: t, w: w, wait: wait, mayRun: make(map[uint32]int)}
	v.h = &tally{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(5000, 9)}, runs: make(map[uint32]int)}
	v.h.Data = rdmaiotest.Pattern(4000, 9)
	cfg := w.Config(&rdmaio.Config{
		Credits: 2, WorkTimeout: work, Legacy: true, ReverseHandler: v.h, ReverseCredits: 1,
	})
	w.Expect(cfg)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := rdmaio.Listen(ctx, w.Server, w.ListenAddr, v.h, cfg)
	if err != nil {
		v.failed++
		return v
	}
	c, err := rdmaio.Dial(ctx, w.Client, s.Addr(), cfg)
	if err == nil {
		for shape := small; shape <= long; shape++ {
			v.do(c, "client", shape)
		}
		for _, back := range s.Conns() {
			back.AllowReverse()
			v.do(back, "server", small)
		}
		v.do(c, "client", readChunks)
		v.do(c, "client", small)
		_ = c.Close() // what it could not give back is seen by the device
	} else {
		v.failed++
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error("a Dial got no answer")
		}
	}
	_ = s.Close()
	v.verdict()
	return v
}

// What can go wrong at every step of what, and how a script has it.
func script(k fault.Kind, at uint64) fault.Config {
	f := fault.Fault{Kind: k, At: at}
	switch {
	case k == fault.FailCompletion:
		f.Status = []verbs.Status{
			verbs.StatusLocalLength, verbs.StatusLocalProtection, verbs.StatusRemoteInvalidRequest, verbs.StatusRemoteAccess,
			verbs.StatusRemoteOperation, verbs.StatusRNRRetryExceeded, verbs.StatusRetryExceeded, verbs.StatusFatal,
		}[at%8]
	case k <= fault.RefuseAlloc && at%2 == 0:
		f.Err = syscall.ENOMEM
	}
	return fault.Config{Script: []fault.Fault{f}}
}

// T48, T50, T126, T128, T129, R74, R285, R289, R329: each kind of fault, at either end, over a
// connection with Calls of all shapes: at its first occasion, at the second, until a run has no
// further one.
func TestCallsSurviveAFaultAtEachStep(t *testing.T) {
	providers := []string{"mem", "rdmatcp", "iwarp"}
	if testing.Short() {
		providers = providers[:2]
	}
	for _, provider := range providers {
		for _, k := range fault.Kinds() {
			if testing.Short() && provider != "mem" && isSilent(k) {
				continue // over memory these take no time
			}
			for _, side := range []string{"client", "server"} {
				if t.Failed() {
					return // one walk that fails is enough: others may wait for as long
				}
				t.Run(fmt.Sprintf("%s/%v at the %s", provider, k, side), func(t *testing.T) {
					at, failed := walk(t, provider, k, side)
					t.Logf("%d occasions, %d Calls or connections failed", at, failed)
					never := k == fault.FailDial && side == "server" || k == fault.FailAccept && side == "client"
					if (at == 0) != never {
						t.Errorf("%d occasions", at)
					}
				})
			}
		}
	}
}

// isSilent reports whether only a time limit completes the work that a fault has stopped.
func isSilent(k fault.Kind) bool {
	return k == fault.LoseCompletion || k == fault.StallRead || k == fault.LoseNotify
}

// walk returns how many occasions there were, and how many Calls failed.
func walk(t *testing.T, provider string, k fault.Kind, side string) (occasions uint64, failed int) {
	tcp := provider != "mem"
	silent := isSilent(k)
	step := uint64(1)
	if testing.Short() {
		step = 2
	}
	if silent && tcp { // these take time, and not the time of a bubble
		step = 4
	}
	for at := uint64(1); ; at += step {
		if at > 500 {
			t.Fatal("it never ends")
		}
		inj := fault.New(script(k, at))
		run := func(t *testing.T) {
			wait, work := 10*time.Second, time.Duration(0)
			if silent && tcp {
				wait, work = 300*time.Millisecond, 50*time.Millisecond
			}
			v := calls(t, newFaultyWorld(t, provider, map[string]*fault.Injector{side: inj}), wait, work)
			if failed += v.failed; v.failed > 0 && inj.Count(k).Fired == 0 && !(silent && tcp) {
				t.Errorf("%d Calls failed without a fault", v.failed)
			}
		}
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			if tcp {
				run(t)
			} else {
				synctest.Test(t, run)
			}
		})
		if inj.Count(k).Fired == 0 || t.Failed() {
			return at - 1, failed
		}
	}
}
