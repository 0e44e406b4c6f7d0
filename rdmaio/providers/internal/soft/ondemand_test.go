package soft

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const peerWrites = verbs.AccessLocalWrite | verbs.AccessRemoteWrite

// target is where a peer may write: the key and address of a region.
type target struct {
	key  uint32
	addr uint64
}

// Peers write to a region on demand while its owner invalidates it and registers it again. Memory
// is asked for once a registration at most, while the registration is valid, and is the owner's
// alone after Invalidate: the race detector sees an access that is not.
func TestOnDemandRace(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	mr := register(t, pd, peerWrites)
	var to atomic.Pointer[target]
	var stop atomic.Bool
	var peers sync.WaitGroup
	for i := range 3 { // each writes to its own byte
		peers.Go(func() {
			for !stop.Load() {
				at := to.Load()
				if at == nil {
					continue
				}
				if e, reason := pd.Remote(at.key, at.addr, 8, verbs.AccessRemoteWrite); reason == "" && e.Pin() {
					List{e}.CopyFrom([]byte{1}, i)
					e.Unpin()
				}
			}
		})
	}
	filled := 0
	for i := 0; i < 2000 || filled < 50; i++ {
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		var own []byte // written by the peers' goroutines, read by this one: Invalidate is between
		calls := 0
		if err := mr.ReregisterOnDemand(8, peerWrites, func() ([]byte, error) {
			calls++
			own = make([]byte, 8)
			return own, nil
		}); err != nil {
			t.Fatal(err)
		}
		to.Store(&target{mr.RKey(), mr.RemoteAddr()})
		for range i % 50 {
			_ = mr.State()
		}
		if i%50 == 0 {
			runtime.Gosched() // a single processor may run no peer otherwise
		}
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		if calls > 1 || (calls == 1) != (own != nil) {
			t.Fatalf("memory was asked for %d times", calls)
		}
		if calls == 1 {
			filled++
			for i := range own {
				own[i]++
			}
		}
	}
	stop.Store(true)
	peers.Wait()
	if err := errors.Join(mr.Deregister(), pd.Close()); err != nil {
		t.Error(err)
	}
}

// Two peers write at the same time: memory is asked for once, and Invalidate waits for it.
func TestOnDemandOnce(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	mr := register(t, pd, peerWrites)
	if err := mr.Invalidate(); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	var invalidated atomic.Bool
	goOn := make(chan struct{})
	if err := mr.ReregisterOnDemand(8, peerWrites, func() ([]byte, error) {
		calls.Add(1)
		<-goOn
		if invalidated.Load() {
			t.Error("Invalidate has returned before there was memory")
		}
		return make([]byte, 8), nil
	}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if _, reason := pd.Remote(mr.RKey(), mr.RemoteAddr(), 8, verbs.AccessRemoteWrite); reason != "" {
				t.Error(reason)
			}
		})
	}
	for mr.loadUse().pins() < 2 { // both have come
		time.Sleep(time.Millisecond)
	}
	all.Go(func() {
		if err := mr.Invalidate(); err != nil {
			t.Error(err)
		}
		invalidated.Store(true)
	})
	for mr.loadUse().valid() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond)
	close(goOn)
	all.Wait()
	if calls.Load() != 1 || len(mr.Bytes()) != 8 {
		t.Errorf("memory was asked for %d times, the region has %d bytes", calls.Load(), len(mr.Bytes()))
	}
	if err := errors.Join(mr.Deregister(), pd.Close()); err != nil {
		t.Error(err)
	}
}

// A write for which there is no memory, or not the right one, is refused with the reason. The next
// write asks again.
func TestOnDemandFails(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	mr := register(t, pd, peerWrites)
	if err := mr.Invalidate(); err != nil {
		t.Fatal(err)
	}
	answers := []struct {
		buf  []byte
		err  error
		want string
	}{
		{nil, errors.New("no space"), "no space"},
		{make([]byte, 7), nil, "7 bytes, want 8"},
		{make([]byte, 8), nil, ""},
	}
	n := 0
	if err := mr.ReregisterOnDemand(8, peerWrites, func() ([]byte, error) {
		n++
		return answers[n-1].buf, answers[n-1].err
	}); err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		_, reason := pd.Remote(mr.RKey(), mr.RemoteAddr(), 8, verbs.AccessRemoteWrite)
		if !strings.Contains(string(reason), a.want) || (reason == "") != (a.want == "") || n != i+1 {
			t.Errorf("write %d: %q, want %q; memory was asked for %d times", i, reason, a.want, n)
		}
	}
	if _, reason := pd.Remote(mr.RKey(), mr.RemoteAddr()+5, 0, verbs.AccessRemoteWrite); reason != "" || n != 3 {
		t.Errorf("a write of no bytes: %q, memory was asked for %d times", reason, n)
	}
	if err := errors.Join(mr.Deregister(), pd.Close()); err != nil {
		t.Error(err)
	}
}
