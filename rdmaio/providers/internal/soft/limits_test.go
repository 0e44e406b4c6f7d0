package soft

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// small is the configuration of a device whose limits are small.
func small() Config {
	return Config{
		Provider: "soft", Rand: bytes.NewReader(make([]byte, 64)), Addresses: true,
		Attrs: verbs.DeviceAttributes{
			Name: "soft0", MaxMRSize: 100, MaxMessageSize: 50, MaxCQE: 64, MaxSendWR: 3, MaxRecvWR: 4, MaxSendSGE: 3, MaxRecvSGE: 2, MaxReadSGE: 1,
			HeapMemory: true, RemoteInvalidate: true, LendReceives: true,
		},
	}
}

// newSmall returns such a device with a domain, a completion queue and a queue pair.
func newSmall(t *testing.T) (*Device, *Domain, *CompletionQueue, *QueuePair) {
	t.Helper()
	d, err := New(small())
	if err != nil {
		t.Fatal(err)
	}
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, _ := newCQ(t, d, 64)
	q, err := newQP(pd, cq, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d, pd, cq, q
}

// checks compares the errors of calls with those that are expected, nil for none.
func checks(t *testing.T, list map[string][2]error) {
	t.Helper()
	for name, c := range list {
		if got, want := c[0], c[1]; want == nil && got != nil || !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Each limit of a device can be reached, and one more is refused with its own error.
func TestLimitsCanBeReached(t *testing.T) {
	d, pd, cq, q := newSmall(t)
	if q.Cfg.MaxSendWR != 3 || q.Cfg.MaxRecvWR != 4 || q.Cfg.MaxSendSGE != 3 || q.Cfg.MaxRecvSGE != 2 {
		t.Errorf("the defaults are %+v, beyond the limits", q.Cfg)
	}
	mr := register(t, pd, verbs.AccessLocalWrite)
	writable, err := pd.RegisterMemory(make([]byte, 100), verbs.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := register(t, pd, 0)
	entries := func(n int) error {
		_, err := d.CreateCQ(n, nil)
		return err
	}
	alloc := func(n int) error {
		_, err := pd.Alloc(n)
		return err
	}
	demand := func(n int, access verbs.Access) error {
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		return mr.ReregisterOnDemand(n, access, func() ([]byte, error) { return nil, nil })
	}
	configure := func(cfg verbs.QPConfig) error {
		if cfg.SendCQ = cq; cfg.RecvCQ == nil {
			cfg.RecvCQ = cq
		}
		return new(QueuePair).Configure(pd, 9, cfg)
	}
	other, err := New(small())
	if err != nil {
		t.Fatal(err)
	}
	foreign, _ := newCQ(t, other, 64)
	send := func(op verbs.Opcode, maxSend uint32, lengths ...int) error {
		wr := verbs.SendWR{Opcode: op}
		for _, n := range lengths {
			wr.SGL = append(wr.SGL, verbs.SGE{MR: writable, Length: n})
		}
		return q.CheckSend(new(Request), []verbs.SendWR{wr}, 0, maxSend, 1)
	}
	recv := func(wr verbs.RecvWR) error {
		_, _, err := q.CheckRecv(nil, []verbs.RecvWR{wr}, 0)
		return err
	}
	some := []verbs.SGE{{MR: writable, Length: 1}}
	read := verbs.SendWR{Opcode: verbs.RDMARead, SGL: []verbs.SGE{{MR: readOnly, Length: 1}}}
	const write = verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	checks(t, map[string][2]error{
		"no entries":                          {entries(0), verbs.ErrInvalidValue},
		"64 entries":                          {entries(64)},
		"65 entries":                          {entries(65), verbs.ErrTooLarge},
		"100 bytes":                           {alloc(100)},
		"101 bytes":                           {alloc(101), verbs.ErrTooLarge},
		"100 bytes on demand":                 {demand(100, write)},
		"101 bytes on demand":                 {demand(101, write), verbs.ErrTooLarge},
		"no bytes on demand":                  {demand(0, write), verbs.ErrInvalidValue},
		"on demand to be read":                {demand(8, write|verbs.AccessRemoteRead), verbs.ErrInvalidValue},
		"on demand, local":                    {demand(8, verbs.AccessLocalWrite), verbs.ErrInvalidValue},
		"3 sends":                             {configure(verbs.QPConfig{MaxSendWR: 3})},
		"4 sends":                             {configure(verbs.QPConfig{MaxSendWR: 4}), verbs.ErrTooLarge},
		"-1 sends":                            {configure(verbs.QPConfig{MaxSendWR: -1}), verbs.ErrInvalidValue},
		"-1 bound regions":                    {configure(verbs.QPConfig{MaxBoundMRs: -1}), verbs.ErrInvalidValue},
		"a receive queue of another device":   {configure(verbs.QPConfig{RecvCQ: foreign}), verbs.ErrForeignObject},
		"a Send of 50 bytes":                  {send(verbs.Send, 60, 25, 25)},
		"a Send of 51 bytes":                  {send(verbs.Send, 60, 25, 26), verbs.ErrTooLarge},
		"a Send that the peer accepts":        {send(verbs.Send, 40, 40)},
		"a Send beyond what the peer accepts": {send(verbs.Send, 40, 41), verbs.ErrTooLarge},
		"the same with Invalidate":            {send(verbs.SendWithInvalidate, 40, 41), verbs.ErrTooLarge},
		"a Write beyond what the peer's Receives take": {send(verbs.RDMAWrite, 40, 41)},
		"3 elements":                         {send(verbs.RDMAWrite, 40, 1, 1, 1)},
		"4 elements":                         {send(verbs.RDMAWrite, 40, 1, 1, 1, 1), verbs.ErrInvalidWR},
		"a Read of 1 element":                {send(verbs.RDMARead, 40, 1)},
		"a Read of 2 elements":               {send(verbs.RDMARead, 40, 1, 1), verbs.ErrInvalidWR},
		"a Read to memory without the right": {q.CheckSend(new(Request), []verbs.SendWR{read}, 0, 40, 1), verbs.ErrAccess},
		"a Receive":                          {recv(verbs.RecvWR{SGL: some})},
		"a Receive without the right":        {recv(verbs.RecvWR{SGL: []verbs.SGE{{MR: readOnly, Length: 1}}}), verbs.ErrAccess},
		"a Receive of 3 elements":            {recv(verbs.RecvWR{SGL: []verbs.SGE{some[0], some[0], some[0]}}), verbs.ErrInvalidWR},
		"50 bytes lent":                      {recv(verbs.RecvWR{Lend: 50})},
		"51 bytes lent":                      {recv(verbs.RecvWR{Lend: 51}), verbs.ErrTooLarge},
		"-1 bytes lent":                      {recv(verbs.RecvWR{Lend: -1}), verbs.ErrInvalidWR},
		"memory and bytes lent":              {recv(verbs.RecvWR{Lend: 1, SGL: some}), verbs.ErrInvalidWR},
	})
	if _, total, err := q.CheckRecv(nil, []verbs.RecvWR{{Lend: 33}}, 0); total != 33 || err != nil {
		t.Errorf("a Receive of 33 bytes lent has room for %d, %v", total, err)
	}
	q.SendUsed.Store(2)
	q.RecvUsed.Store(3)
	checks(t, map[string][2]error{"the third send": {send(verbs.Send, 40, 1)}, "the fourth Receive": {recv(verbs.RecvWR{SGL: some})}})
	q.SendUsed.Store(3)
	q.RecvUsed.Store(4)
	checks(t, map[string][2]error{
		"the fourth send":        {send(verbs.Send, 40, 1), verbs.ErrQueueFull},
		"the fifth Receive":      {recv(verbs.RecvWR{SGL: some}), verbs.ErrQueueFull},
		"the fifth Receive lent": {recv(verbs.RecvWR{Lend: 1}), verbs.ErrQueueFull},
	})
}

// owned records the order in which queue pairs are removed, and the interruptions.
type owned struct {
	q           *QueuePair
	removed     *[]uint32
	interrupted *int
}

func (o owned) Removed()   { *o.removed = append(*o.removed, o.q.Num()) }
func (o owned) Interrupt() { *o.interrupted++ }

// closer is a listener that was closed so many times.
type closer struct{ times int }

func (c *closer) Close() error {
	c.times++
	return nil
}

// Remove closes listeners and ends connections in the order of their numbers. Afterwards the device
// makes nothing more, and a queue pair that comes too late leaves its completion queues free.
func TestRemovedDeviceMakesNothing(t *testing.T) {
	d, pd, cq, first := newSmall(t)
	first.ReleaseCQs()
	first.Unregister()
	mr := register(t, pd, verbs.AccessRemoteRead)
	if err := mr.Invalidate(); err != nil {
		t.Fatal(err)
	}
	var removed []uint32
	interrupted := 0
	for _, n := range []uint32{5, 2, 9, 3} {
		q := new(QueuePair)
		if err := q.Configure(pd, n, verbs.QPConfig{SendCQ: cq, RecvCQ: cq}); err != nil {
			t.Fatal(err)
		}
		if err := q.Register(owned{q, &removed, &interrupted}); err != nil {
			t.Fatal(err)
		}
		q.SendUsed.Store(1)
		q.RecvUsed.Store(2)
	}
	if r := d.Resources(); r.QPs != 4 || r.PostedSends != 4 || r.PostedRecvs != 8 || r.MRs != 1 || r.PDs != 1 || r.CQs != 1 {
		t.Errorf("%+v", r)
	}
	if pd.interrupt(); interrupted != 4 {
		t.Errorf("%d of 4 queue pairs are interrupted", interrupted)
	}
	late := new(QueuePair)
	if err := late.Configure(pd, 10, verbs.QPConfig{SendCQ: cq, RecvCQ: cq}); err != nil {
		t.Fatal(err)
	}
	listener := new(closer)
	if err := d.Listen(listener); err != nil {
		t.Fatal(err)
	}
	reserved := cq.reserved
	d.Remove()
	if want := []uint32{2, 3, 5, 9}; !slices.Equal(removed, want) || listener.times != 1 {
		t.Errorf("queue pairs are removed in the order %v, want %v; the listener is closed %d times", removed, want, listener.times)
	}
	_, errCQ := d.CreateCQ(1, nil)
	_, errPD := d.AllocPD()
	_, errAlloc := pd.Alloc(8)
	_, errMR := pd.RegisterMemory(make([]byte, 8), 0)
	checks(t, map[string][2]error{
		"CreateCQ": {errCQ, verbs.ErrDeviceRemoved}, "AllocPD": {errPD, verbs.ErrDeviceRemoved}, "Alloc": {errAlloc, verbs.ErrDeviceRemoved},
		"RegisterMemory": {errMR, verbs.ErrDeviceRemoved}, "Reregister": {mr.Reregister(make([]byte, 8), 0), verbs.ErrDeviceRemoved},
		"ReregisterOnDemand": {mr.ReregisterOnDemand(8, peerWrites, func() ([]byte, error) { return nil, nil }), verbs.ErrDeviceRemoved},
		"Listen":             {d.Listen(listener), verbs.ErrDeviceRemoved}, "Register": {late.Register(owned{}), verbs.ErrDeviceRemoved},
	})
	if cq.reserved != reserved {
		t.Errorf("%d entries are reserved, %d before the queue pair that failed", cq.reserved, reserved)
	}
}

// Closed objects refuse to make others, and closing them again changes nothing.
func TestClosedObjectsMakeNothing(t *testing.T) {
	d, pd, cq, q := newSmall(t)
	late, noCQ := new(QueuePair), new(QueuePair)
	closed, _ := newCQ(t, d, 64)
	if err := late.Configure(pd, 9, verbs.QPConfig{SendCQ: cq, RecvCQ: cq}); err != nil {
		t.Fatal(err)
	}
	if err := noCQ.Configure(pd, 9, verbs.QPConfig{SendCQ: cq, RecvCQ: closed}); err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	checks(t, map[string][2]error{"Register with a closed completion queue": {noCQ.Register(owned{}), verbs.ErrClosed}})
	if err := pd.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("the domain has a queue pair: %v", err)
	}
	q.ReleaseCQs()
	q.Unregister()
	mr := register(t, pd, 0)
	if err := pd.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("the domain has a region: %v", err)
	}
	for range 2 {
		if err := mr.Deregister(); err != nil {
			t.Fatal(err)
		}
	}
	if mr.Bytes() != nil {
		t.Error("a deregistered region keeps its memory")
	}
	for range 2 {
		if err := pd.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, errAlloc := pd.Alloc(8)
	_, errMR := pd.RegisterMemory(make([]byte, 8), 0)
	checks(t, map[string][2]error{
		"Alloc": {errAlloc, verbs.ErrClosed}, "RegisterMemory": {errMR, verbs.ErrClosed},
		"Reregister": {mr.Reregister(mr.Bytes(), 0), verbs.ErrClosed},
		"Invalidate": {mr.Invalidate(), verbs.ErrClosed}, "Register": {late.Register(owned{}), verbs.ErrClosed},
	})
	if cq.reserved != 0 || cq.users != 0 {
		t.Errorf("%d entries are reserved by %d users", cq.reserved, cq.users)
	}
	for range 2 {
		if err := cq.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := d.Resources(); r != (verbs.Resources{}) {
		t.Errorf("left: %+v", r)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := d.AllocPD()
	checks(t, map[string][2]error{"AllocPD": {err, verbs.ErrClosed}})
}

// A region has one key at a time: the device forgets the old ones, and keys of regions without a
// remote right. Memory of a registration on demand ends with it.
func TestRegistrationsLeaveNothing(t *testing.T) {
	d, pd, _, _ := newSmall(t)
	mr := register(t, pd, verbs.AccessRemoteRead)
	for i := range 20 {
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		access := []verbs.Access{verbs.AccessRemoteRead, 0}[i%2]
		if err := mr.Reregister(make([]byte, 8), access); err != nil {
			t.Fatal(err)
		}
		if want := 1 - i%2; len(d.regions) != want {
			t.Fatalf("registration %d: %d keys are known, want %d", i, len(d.regions), want)
		}
	}
	if err := mr.Invalidate(); err != nil {
		t.Fatal(err)
	}
	if err := mr.ReregisterOnDemand(8, peerWrites, func() ([]byte, error) { return make([]byte, 8), nil }); err != nil {
		t.Fatal(err)
	}
	checks(t, map[string][2]error{"Redirect of memory on demand": {mr.Redirect(make([]byte, 8)), verbs.ErrNotSupported}})
	if err := mr.Invalidate(); err != nil {
		t.Fatal(err)
	}
	if err := mr.Reregister(make([]byte, 8), peerWrites); err != nil {
		t.Fatal(err)
	}
	checks(t, map[string][2]error{"Redirect afterwards": {mr.Redirect(make([]byte, 8))}})
}

// Without DeviceAttributes.HeapMemory, memory on demand must be of the domain's Alloc, too.
func TestMemoryOnDemandIsOfTheDomain(t *testing.T) {
	cfg := small()
	cfg.Attrs.HeapMemory = false
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	own := alloc(t, pd, 8)
	made, err := pd.RegisterMemory(own, 0)
	if err != nil {
		t.Fatal(err)
	}
	mr := made.(*Region)
	for name, memory := range map[string][]byte{"of Alloc": own, "of the heap": make([]byte, 8)} {
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		if err := mr.ReregisterOnDemand(8, peerWrites, func() ([]byte, error) { return memory, nil }); err != nil {
			t.Fatal(err)
		}
		if _, reason := pd.Remote(mr.RKey(), mr.RemoteAddr(), 8, verbs.AccessRemoteWrite); (reason == "") != (name == "of Alloc") {
			t.Errorf("memory %s: %q", name, reason)
		}
	}
}

// A Redirect waits for one before it, and a registration for the copies of an Invalidate: until
// then the memory of copies in progress stays the region's.
func TestRegionChangesOneByOne(t *testing.T) {
	for _, redirect := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			_, pd, _, _ := newSmall(t)
			mr := register(t, pd, verbs.AccessRemoteRead|verbs.AccessLocalWrite)
			old := mr.Bytes()
			e, reason := pd.Remote(mr.RKey(), mr.RemoteAddr(), 8, verbs.AccessRemoteRead)
			if reason != "" || !e.Pin() {
				t.Fatalf("no pin: %s", reason)
			}
			done := make(chan error, 2)
			if redirect {
				go func() { done <- mr.Redirect(make([]byte, 8)) }()
			} else {
				go func() { done <- mr.Invalidate() }()
			}
			synctest.Wait()
			next := make([]byte, 8)
			if redirect {
				go func() { done <- mr.Redirect(next) }()
			} else {
				go func() { done <- mr.Reregister(next, verbs.AccessRemoteRead) }()
			}
			synctest.Wait()
			if &mr.bufs[0][0] != &old[0] || len(done) != 0 {
				t.Errorf("redirect %v: the memory of a copy in progress is not the region's, or %d calls have returned", redirect, len(done))
			}
			e.Unpin()
			for range 2 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if got := mr.Bytes(); &got[0] != &next[0] || mr.State() != verbs.MRValid {
				t.Errorf("redirect %v: the region is %v and has other memory", redirect, mr.State())
			}
		})
	}
}

// A completion has the number of its queue pair and what the request was. Only a Read that has
// succeeded has a length.
func TestCompletionsDescribeTheirRequests(t *testing.T) {
	_, _, cq, q := newSmall(t)
	var mu Mutex
	for _, tt := range []struct {
		op     verbs.Opcode
		status verbs.Status
		want   verbs.WC
	}{
		{verbs.Send, verbs.StatusSuccess, verbs.WC{Opcode: verbs.WCSend}},
		{verbs.SendWithInvalidate, verbs.StatusSuccess, verbs.WC{Opcode: verbs.WCSend}},
		{verbs.RDMAWrite, verbs.StatusSuccess, verbs.WC{Opcode: verbs.WCRDMAWrite}},
		{verbs.LocalInvalidate, verbs.StatusSuccess, verbs.WC{Opcode: verbs.WCLocalInvalidate}},
		{verbs.RDMARead, verbs.StatusSuccess, verbs.WC{Opcode: verbs.WCRDMARead, ByteLen: 44}},
		{verbs.RDMARead, verbs.StatusFlushed, verbs.WC{Opcode: verbs.WCRDMARead, Status: verbs.StatusFlushed}},
	} {
		mu.Lock()
		q.SendUsed.Add(1)
		q.CompleteSend(&mu, &Request{WRID: 7, Opcode: tt.op, Flags: verbs.SendSignaled, Total: 44}, tt.status)
		mu.UnlockNotify()
		tt.want.WRID, tt.want.QPNum = 7, q.Num()
		wcs := make([]verbs.WC, 2)
		if n, err := cq.Poll(wcs); n != 1 || err != nil || wcs[0] != tt.want {
			t.Errorf("%v with %v: %d completions, %+v, %v, want %+v", tt.op, tt.status, n, wcs[0], err, tt.want)
		}
	}
	mu.Lock()
	q.RecvUsed.Add(1)
	q.CompleteRecv(&mu, 8, verbs.WC{ByteLen: 5}, false)
	mu.UnlockNotify()
	wcs := make([]verbs.WC, 2)
	if n, err := cq.Poll(wcs); n != 1 || err != nil || wcs[0] != (verbs.WC{WRID: 8, Opcode: verbs.WCRecv, QPNum: q.Num(), ByteLen: 5}) {
		t.Errorf("a Receive: %d completions, %+v, %v", n, wcs[0], err)
	}
	for i := range cq.ring {
		if cq.ring[i].qp != nil {
			t.Error("a completion that was polled keeps its queue pair")
		}
	}
}

// A notification may make others due: they run after it, and nothing is kept of any.
func TestNotificationsOfNotificationsRun(t *testing.T) {
	var mu Mutex
	ran, depth := 0, 0
	var again func()
	again = func() {
		if depth++; depth > 1 {
			t.Error("a notification runs within another")
		}
		if ran++; ran < 5 {
			mu.Lock()
			mu.Notify(again)
			mu.UnlockNotify() // leaves it to the outer call
		}
		depth--
	}
	for round := 1; round <= 2; round++ {
		ran = 0
		mu.Lock()
		mu.Notify(again)
		mu.Notify(nil)
		mu.UnlockNotify()
		if ran != 5 || mu.notifying || len(mu.due) != 0 {
			t.Errorf("round %d: %d of 5 notifications ran, %d are due", round, ran, len(mu.due))
		}
		for _, list := range [][]notification{mu.due[:cap(mu.due)], mu.spare[:cap(mu.spare)]} {
			for _, n := range list {
				if n.cq != nil || n.qp != nil {
					t.Error("a notification that has run is kept")
				}
			}
		}
	}
}

// A notification that exits its goroutine leaves the others, and those that become due, to another
// goroutine. NotifyLocked has the lock all the same.
func TestNotificationExitsTheGoroutine(t *testing.T) {
	var mu Mutex
	ran := make(chan int, 4)
	locked := make(chan bool, 1)
	go func() {
		defer func() {
			locked <- !mu.TryLock()
			mu.Unlock()
		}()
		mu.Lock()
		mu.Notify(func() {
			mu.Lock()
			mu.Notify(func() { ran <- 3 })
			mu.UnlockNotify()
			ran <- 1
			runtime.Goexit()
		})
		mu.Notify(func() { ran <- 2 })
		mu.NotifyLocked()
	}()
	for want := 1; want <= 3; want++ {
		if got := <-ran; got != want {
			t.Errorf("notification %d runs in place of %d", got, want)
		}
	}
	if !<-locked {
		t.Error("NotifyLocked has not locked")
	}
	done := make(chan bool, 1)
	for rests := false; !rests; { // the other goroutine leaves soon
		mu.Lock()
		rests = !mu.notifying
		mu.Unlock()
		runtime.Gosched()
	}
	mu.Lock()
	mu.Notify(func() { done <- true })
	mu.UnlockNotify()
	<-done
}

// A completion queue has memory for the completions that it may have, and no more.
func TestQueueMemoryHasItsSize(t *testing.T) {
	d, _, _, _ := newSmall(t)
	cq, _ := newCQ(t, d, 5)
	var mu Mutex
	mu.Lock()
	for i := range uint64(5) {
		mu.push(cq, entry{wc: verbs.WC{WRID: i}}, false)
	}
	mu.UnlockNotify()
	if len(cq.ring) != 5 {
		t.Errorf("memory of %d completions, want 5", len(cq.ring))
	}
}

// Memory that was lent is lent again. (The pool may drop it: then the next time counts.)
func TestLoansAreLentAgain(t *testing.T) {
	for _, n := range loanSizes {
		again := false
		for i := 0; i < 50 && !again; i++ {
			l := Lend(n)
			first := &l.Bytes()[0]
			l.Return()
			next := Lend(n)
			again = first == &next.Bytes()[0]
		}
		if !again {
			t.Errorf("memory of %d bytes is never lent again", n)
		}
	}
}

// A queue pair is connected once.
func TestQueuePairConnectsOnce(t *testing.T) {
	_, _, _, q := newSmall(t)
	q.SetState(verbs.StateInit)
	if err := q.StartConnecting(); err != nil || q.State() != verbs.StateConnecting {
		t.Errorf("%v, state %v", err, q.State())
	}
	checks(t, map[string][2]error{"the second time": {q.StartConnecting(), verbs.ErrInvalidState}})
}
