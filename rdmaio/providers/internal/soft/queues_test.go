package soft

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// newCQ returns a completion queue, which counts its notifications.
func newCQ(t *testing.T, d *Device, entries int) (cq *CompletionQueue, notified *int) {
	t.Helper()
	notified = new(int)
	made, err := d.CreateCQ(entries, func() { *notified++ })
	if err != nil {
		t.Fatal(err)
	}
	return made.(*CompletionQueue), notified
}

// newQP returns a queue pair with so many entries for each direction.
func newQP(pd *Domain, cq *CompletionQueue, sends, recvs int) (*QueuePair, error) {
	q := new(QueuePair)
	if err := q.Configure(pd, 1, verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: sends, MaxRecvWR: recvs}); err != nil {
		return nil, err
	}
	return q, q.Register(interrupter(func() {}))
}

// A completion queue in use cannot be closed, whichever queue of a queue pair completes there.
func TestCompletionQueueInUseStaysOpen(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	sends, _ := newCQ(t, d, 10)
	recvs, _ := newCQ(t, d, 10)
	q := new(QueuePair)
	if err := q.Configure(pd, 1, verbs.QPConfig{SendCQ: sends, RecvCQ: recvs, MaxSendWR: 2, MaxRecvWR: 2}); err != nil {
		t.Fatal(err)
	}
	if err := q.Register(interrupter(func() {})); err != nil {
		t.Fatal(err)
	}
	for name, cq := range map[string]*CompletionQueue{"send": sends, "receive": recvs} {
		if err := cq.Close(); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("closed the %s queue in use: %v", name, err)
		}
	}
	q.ReleaseCQs()
	q.Unregister()
	for name, cq := range map[string]*CompletionQueue{"send": sends, "receive": recvs} {
		if err := cq.Close(); err != nil {
			t.Errorf("close the %s queue: %v", name, err)
		}
	}
}

// RFC 5042 §6.4.3.2: queue pairs reserve entries of a completion queue. What a closed one has left
// there keeps its entries until it is polled, and nothing of the others.
func TestQueuePairsReserveEntries(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, _ := newCQ(t, d, 10)
	first, err := newQP(pd, cq, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newQP(pd, cq, 3, 2); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("5 entries of 4: %v", err)
	}
	second, err := newQP(pd, cq, 2, 2)
	if err != nil {
		t.Fatalf("4 entries of 4, after a reservation that failed: %v", err)
	}
	var mu Mutex
	mu.Lock()
	for _, q := range []*QueuePair{first, second, first} {
		q.RecvUsed.Add(1)
		q.CompleteRecv(&mu, 7, verbs.WC{}, false)
	}
	mu.UnlockNotify()
	if err := cq.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("close of a queue in use: %v", err)
	}
	first.ReleaseCQs()
	first.Unregister()
	if _, err := newQP(pd, cq, 3, 2); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("5 entries, while 2 of 6 still have a closed queue pair's completions: %v", err)
	}
	third, err := newQP(pd, cq, 2, 2)
	if err != nil {
		t.Fatalf("4 entries, while 2 of 6 still have a closed queue pair's completions: %v", err)
	}
	wcs := make([]verbs.WC, 4)
	if n, err := cq.Poll(wcs); n != 3 || err != nil {
		t.Fatalf("%d completions, %v", n, err)
	}
	if second.RecvUsed.Load() != 0 || first.RecvUsed.Load() != 2 {
		t.Errorf("Receives in use: %d of the queue pair, %d of the closed one", second.RecvUsed.Load(), first.RecvUsed.Load())
	}
	if q, err := newQP(pd, cq, 1, 1); err != nil {
		t.Errorf("2 entries of 2, after the poll: %v", err)
	} else {
		q.ReleaseCQs()
		q.Unregister()
	}
	for _, q := range []*QueuePair{second, third} {
		q.ReleaseCQs()
		q.Unregister()
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
	if r := d.Resources(); r.CQs != 0 || r.QPs != 0 {
		t.Errorf("left: %+v", r)
	}
}

// Completions are polled in order, however many there are at a time. Each frees the entry of its
// request, and the entries of unsignaled requests before it.
func TestCompletionsInOrder(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, _ := newCQ(t, d, 32)
	q, err := newQP(pd, cq, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	var mu Mutex
	next, want := uint64(0), uint64(0)
	for round := range 40 {
		for range 1 + round%5 {
			if q.SendUsed.Load() > 13 {
				break
			}
			// Two unsignaled requests, then a signaled one, which completes all three.
			mu.Lock()
			q.SendUsed.Add(3)
			for _, flags := range []verbs.SendFlags{0, 0, verbs.SendSignaled} {
				q.CompleteSend(&mu, &Request{WRID: next, Flags: flags}, verbs.StatusSuccess)
			}
			mu.UnlockNotify()
			next++
		}
		wcs := make([]verbs.WC, 1+round%3)
		n, err := cq.Poll(wcs)
		if err != nil {
			t.Fatal(err)
		}
		for _, wc := range wcs[:n] {
			if wc.WRID != want {
				t.Fatalf("round %d: completion of %d, want %d", round, wc.WRID, want)
			}
			want++
		}
		if used := int(q.SendUsed.Load()); used != 3*int(next-want) {
			t.Fatalf("round %d: %d entries are in use for %d completions", round, used, next-want)
		}
	}
	if len(cq.ring) > 32 || cap(cq.ring) > 32 {
		t.Errorf("memory of %d completions, of 32 at most", len(cq.ring))
	}
}

// TestClosedQueueCannotBeArmed closes a queue first.
func TestClosedQueueCannotBeArmed(t *testing.T) {
	cq, _ := newCQ(t, newDevice(t, 1), 8)
	if err := cq.Close(); err != nil {
		t.Fatal(err)
	}
	for _, only := range []bool{false, true} {
		if err := cq.Arm(only); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("Arm(%t) of a closed queue: %v, want %v", only, err, verbs.ErrClosed)
		}
	}
}

// Arm makes the queue notify once: for any completion, or only for those that are solicited or
// failed. The wider wish holds. A closed queue does not notify.
func TestArmedQueueNotifiesOnce(t *testing.T) {
	type event struct {
		solicited bool
		status    verbs.Status
	}
	plain, solicited, failed := event{}, event{solicited: true}, event{status: verbs.StatusFlushed}
	for _, tt := range []struct {
		arm    []bool // solicitedOnly
		events []event
		want   int
	}{
		{nil, []event{plain, solicited, failed}, 0},
		{[]bool{false}, []event{plain, solicited}, 1},
		{[]bool{true}, []event{plain, plain}, 0},
		{[]bool{true}, []event{plain, solicited, failed}, 1},
		{[]bool{true}, []event{failed, failed}, 1},
		{[]bool{false, true}, []event{plain, plain}, 1},
		{[]bool{true, false}, []event{plain, plain}, 1},
		{[]bool{true, true}, []event{solicited, solicited}, 1},
	} {
		d := newDevice(t, 1)
		cq, notified := newCQ(t, d, 8)
		for _, only := range tt.arm {
			if err := cq.Arm(only); err != nil {
				t.Fatal(err)
			}
		}
		var mu Mutex
		for _, e := range tt.events {
			mu.Lock()
			mu.push(cq, entry{wc: verbs.WC{Status: e.status}}, e.solicited)
			mu.UnlockNotify()
		}
		if *notified != tt.want {
			t.Errorf("armed %v, completions %v: notified %d times, want %d", tt.arm, tt.events, *notified, tt.want)
		}
		cq.Arm(false)
		mu.Lock()
		mu.push(cq, entry{}, false)
		if err := cq.Close(); err != nil {
			t.Fatal(err)
		}
		mu.UnlockNotify()
		if *notified != tt.want {
			t.Errorf("a closed queue notifies")
		}
	}
}

// A completion that was polled keeps no memory that was lent.
func TestPollKeepsNoLoan(t *testing.T) {
	d := newDevice(t, 1)
	cq, _ := newCQ(t, d, 8)
	var mu Mutex
	mu.Lock()
	mu.push(cq, entry{wc: verbs.WC{Loan: Lend(8)}}, false)
	mu.UnlockNotify()
	wcs := make([]verbs.WC, 1)
	if n, err := cq.Poll(wcs); n != 1 || err != nil || wcs[0].Loan == nil || cq.ring[0].wc.Loan != nil {
		t.Errorf("%d completions, %v; the queue keeps %v", n, err, cq.ring[0].wc.Loan)
	}
}

// The elements of a request: the limits of their number, range, rights and sum.
func TestElementsRefused(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	other, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	const both = verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	mr, ro, foreign := register(t, pd, both), register(t, pd, verbs.AccessRemoteRead), register(t, other, both)
	demand := register(t, pd, both)
	if err := demand.Invalidate(); err != nil {
		t.Fatal(err)
	}
	if err := demand.ReregisterOnDemand(8, both, func() ([]byte, error) { return make([]byte, 8), nil }); err != nil {
		t.Fatal(err)
	}
	el := func(mr *Region, off, n int) verbs.SGE { return verbs.SGE{MR: mr, Offset: off, Length: n} }
	for _, tt := range []struct {
		sgl  []verbs.SGE
		need verbs.Access
		want error
	}{
		{[]verbs.SGE{el(mr, 0, 8), el(mr, 8, 0), el(mr, 2, 2)}, both, nil},
		{[]verbs.SGE{el(mr, 0, 1), el(mr, 0, 1), el(mr, 0, 1), el(mr, 0, 1)}, 0, verbs.ErrInvalidWR},
		{[]verbs.SGE{el(mr, 1, 8)}, 0, verbs.ErrInvalidWR},
		{[]verbs.SGE{el(mr, 9, 0)}, 0, verbs.ErrInvalidWR},
		{[]verbs.SGE{el(mr, 0, 5), el(mr, 0, 5)}, 0, nil},
		{[]verbs.SGE{el(mr, 0, 5), el(mr, 0, 6)}, 0, verbs.ErrTooLarge},
		{[]verbs.SGE{el(foreign, 0, 1)}, 0, verbs.ErrForeignObject},
		{[]verbs.SGE{el(ro, 0, 1)}, verbs.AccessLocalWrite, verbs.ErrAccess},
		{[]verbs.SGE{el(ro, 0, 1)}, verbs.AccessLocalWrite | verbs.AccessRemoteRead, verbs.ErrAccess},
		{[]verbs.SGE{el(demand, 0, 1)}, 0, verbs.ErrAccess},
	} {
		if _, _, err := pd.Check(nil, tt.sgl, 3, 10, tt.need); !errors.Is(err, tt.want) || err != nil && tt.want == nil {
			t.Errorf("%v with %v: %v, want %v", tt.sgl, tt.need, err, tt.want)
		}
	}
}

// The peer invalidates only a region of the domain, by the key that it has now.
func TestInvalidateKey(t *testing.T) {
	d := newDevice(t, 1)
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	other, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	mr := register(t, pd, verbs.AccessRemoteRead)
	key := mr.RKey()
	if other.InvalidateKey(key) || mr.State() != verbs.MRValid {
		t.Errorf("by another domain: %v", mr.State())
	}
	if !pd.InvalidateKey(key) || mr.State() != verbs.MRInvalid || pd.InvalidateKey(key) {
		t.Errorf("by its domain: %v", mr.State())
	}
	if err := mr.Redirect(make([]byte, 7)); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("redirect to less memory: %v", err)
	}
	if err := mr.Reregister(make([]byte, 8), verbs.AccessRemoteRead); err != nil {
		t.Fatal(err)
	}
	if pd.InvalidateKey(key) || mr.State() != verbs.MRValid || mr.RKey() == key {
		t.Errorf("by its old key: %v", mr.State())
	}
	for _, n := range []int{7, 9} {
		if err := mr.Redirect(make([]byte, n)); !errors.Is(err, verbs.ErrInvalidValue) {
			t.Errorf("redirect to %d bytes of 8: %v", n, err)
		}
	}
}

// Memory is freed once, as a whole, and not while a valid region has a part of it. A domain with
// regions or memory cannot be closed.
func TestFreeAndClose(t *testing.T) {
	d, err := New(Config{Provider: "soft", Rand: oneSeed{}, Attrs: verbs.DeviceAttributes{MaxMRSize: 64}})
	if err != nil {
		t.Fatal(err)
	}
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pd.Alloc(65); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("more than the limit: %v", err)
	}
	buf, err := pd.Alloc(64)
	if err != nil || d.Resources().AllocatedBytes != 64 {
		t.Fatalf("%v; %+v", err, d.Resources())
	}
	if err := pd.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("close with memory: %v", err)
	}
	if _, err := pd.RegisterMemory(buf[32:], 0); err != nil {
		t.Errorf("the second half: %v", err)
	}
	pd.allocs[&buf[0]] = 40
	if _, err := pd.RegisterMemory(buf[32:], 0); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("8 bytes of Alloc, and others after them: %v", err)
	}
	pd.allocs[&buf[0]] = 64
	if err := pd.Free(buf); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("free while the second half is registered: %v", err)
	}
	for mr := range pd.regions {
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		if err := pd.Free(buf); err != nil {
			t.Errorf("free after that: %v", err)
		}
		if err := pd.Close(); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("close with a region: %v", err)
		}
		if err := mr.Deregister(); err != nil {
			t.Fatal(err)
		}
	}
	if err := pd.Free(buf); !errors.Is(err, verbs.ErrForeignObject) {
		t.Errorf("freed twice: %v", err)
	}
	if n := d.Resources().AllocatedBytes; n != 0 {
		t.Errorf("%d bytes are left", n)
	}
	if err := pd.Close(); err != nil {
		t.Error(err)
	}
}

// oneSeed is a source of the same bytes.
type oneSeed struct{}

func (oneSeed) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// A loan has as many bytes as the message, and no more can be reached. It goes back once, and its
// bytes are not used for the next message.
func TestLoanHasTheSizeOfTheMessage(t *testing.T) {
	for _, n := range []int{0, 1, 512, 513, 5 << 10, 256 << 10, 256<<10 + 1} {
		l := Lend(n)
		if b := l.Bytes(); len(b) != n || cap(b) != n {
			t.Errorf("%d bytes: %d, capacity %d", n, len(b), cap(b))
		}
		if want := n; l.class < len(loanSizes) && (len(l.mem) < want || l.class > 0 && loanSizes[l.class-1] >= n) {
			t.Errorf("%d bytes in memory of %d", n, len(l.mem))
		}
		l.Cut(n / 2)
		if b := l.Bytes(); len(b) != n/2 || cap(b) != n/2 {
			t.Errorf("%d bytes of %d: %d, capacity %d", n/2, n, len(b), cap(b))
		}
		l.Return()
		l.Return()
		if l.n >= 0 {
			t.Errorf("%d bytes: not returned", n)
		}
	}
	a := Lend(600)
	a.Return()
	a.Return()
	if b, c := Lend(600), Lend(600); b == c {
		t.Error("memory that was returned twice is lent twice")
	}
}

// Parameters of a connection: 0 stands for the device's limit, a negative number for none, and no
// depth is larger than the limit.
func TestDepthsStayWithinTheLimits(t *testing.T) {
	d, err := New(Config{Provider: "soft", Rand: oneSeed{}, Attrs: verbs.DeviceAttributes{MaxInitiatorDepth: 5, MaxResponderResources: 7, MaxPrivateData: 3}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ wish, initiator, responder int }{
		{0, 5, 7}, {-1, 0, 0}, {-100, 0, 0}, {1, 1, 1}, {5, 5, 5}, {6, 5, 6}, {100, 5, 7},
	} {
		p, err := d.Params(&verbs.ConnParams{InitiatorDepth: tt.wish, ResponderResources: tt.wish})
		if got, want := fmt.Sprint(p.InitiatorDepth, p.ResponderResources), fmt.Sprint(tt.initiator, tt.responder); err != nil || got != want {
			t.Errorf("%d: %s, want %s; %v", tt.wish, got, want, err)
		}
	}
	mine := []byte("abc")
	p, err := d.Params(&verbs.ConnParams{PrivateData: mine})
	if mine[0] = 'x'; err != nil || string(p.PrivateData) != "abc" {
		t.Errorf("private data %q, %v", p.PrivateData, err)
	}
	if _, err := d.Params(&verbs.ConnParams{PrivateData: []byte("abcd")}); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("longer private data: %v", err)
	}
}
