package trace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// The wrapper passes the suite, and its records are consistent.
func TestWrapperPassesTheSuite(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		rec := trace.NewRecorder(1 << 20)
		tr := trace.New(trace.Config{Sink: rec.Add})
		n := mem.New(nil)
		client, err := n.Open("client", nil)
		if err != nil {
			t.Fatal(err)
		}
		server, err := n.Open("server", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, problem := range problems(rec.Events()) {
				t.Error(problem)
			}
		})
		c, s := tr.Device(client), tr.Device(server)
		inner := map[verbs.Device]*mem.Device{c: client, s: server}
		return verbstest.Fabric{
			Client: c, Server: s, Addr: "here", Precise: true,
			Remove: func(d verbs.Device) { inner[d].Remove() },
		}
	})
}

// problems checks a whole history: events are in order, and each completion belongs to one
// request.
func problems(history []trace.Event) (found []string) {
	type queue struct {
		qp   uint32
		recv bool
		id   uint64
	}
	owed := make(map[queue]int)   // Receives and signaled requests
	unsure := make(map[queue]int) // unsignaled ones: a completion is allowed
	last := uint64(0)
	for _, e := range history {
		if e.Seq != last+1 {
			found = append(found, fmt.Sprintf("event %d follows %d", e.Seq, last))
		}
		last = e.Seq
		send, recv := queue{e.QP, false, e.WRID}, queue{e.QP, true, e.WRID}
		sign := 1
		switch e.Kind {
		case trace.RefuseSend, trace.RefuseRecv:
			sign = -1
		}
		switch e.Kind {
		case trace.PostRecv, trace.RefuseRecv:
			owed[recv] += sign
		case trace.PostSend, trace.RefuseSend:
			if e.Flags&verbs.SendSignaled != 0 {
				owed[send] += sign
			} else {
				unsure[send] += sign
			}
		case trace.Complete: // a failed one has no valid opcode: match the queue that waits
			switch success := e.Status == verbs.StatusSuccess; {
			case owed[recv] > 0 && (!success || e.WCOpcode == verbs.WCRecv):
				owed[recv]--
			case owed[send] > 0 && (!success || e.WCOpcode != verbs.WCRecv):
				owed[send]--
			case unsure[send] > 0 && !success:
				unsure[send]--
			default:
				found = append(found, fmt.Sprintf("completion of nothing: %v", e))
			}
		}
	}
	return found
}

// The checker finds each problem that it is written for.
func TestProblemsCanary(t *testing.T) {
	post := trace.Event{Seq: 1, Kind: trace.PostSend, QP: 1, WRID: 7, Flags: verbs.SendSignaled}
	done := trace.Event{Seq: 2, Kind: trace.Complete, QP: 1, WRID: 7, WCOpcode: verbs.WCSend}
	again, other, refused, late := done, done, post, done
	again.Seq, other.WRID, late.Seq = 3, 8, 3
	refused.Seq, refused.Kind = 2, trace.RefuseSend
	for name, tc := range map[string]struct {
		history []trace.Event
		want    int
	}{
		"good":                 {[]trace.Event{post, done}, 0},
		"twice":                {[]trace.Event{post, done, again}, 1},
		"never posted":         {[]trace.Event{post, other}, 1},
		"refused and complete": {[]trace.Event{post, refused, late}, 1},
		"event missing":        {[]trace.Event{post, late}, 1},
	} {
		if got := problems(tc.history); len(got) != tc.want {
			t.Errorf("%s: %d problems, want %d: %q", name, len(got), tc.want, got)
		}
	}
}

func TestTraceHasALineForEachEvent(t *testing.T) {
	rec := trace.NewRecorder(100)
	tr := trace.New(trace.Config{Sink: rec.Add})
	n := mem.New(&mem.Config{Rand: strings.NewReader("0123456789abcdefghijklmnopqrstuv")})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	type end struct {
		dev verbs.Device
		pd  verbs.ProtectionDomain
		cq  verbs.CompletionQueue
		qp  verbs.QueuePair
		mr  verbs.MemoryRegion
	}
	open := func(name string) (e end) {
		inner, err := n.Open(name, nil)
		must(err)
		e.dev = tr.Device(inner)
		e.pd, err = e.dev.AllocPD()
		must(err)
		e.cq, err = e.dev.CreateCQ(16, func() {})
		must(err)
		e.qp, err = e.pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: 8, MaxRecvWR: 8})
		must(err)
		e.mr, err = e.pd.RegisterMemory(make([]byte, 64), verbs.AccessLocalWrite|verbs.AccessRemoteWrite|verbs.AccessRemoteInvalidate)
		must(err)
		return e
	}
	c, s := open("client"), open("server")
	ctx := context.Background()
	ln, err := s.dev.Listen(ctx, "nfs")
	must(err)
	dialed := make(chan error)
	go func() {
		_, err := c.dev.Dial(ctx, "nfs", c.qp, &verbs.ConnParams{PrivateData: []byte("hi"), InitiatorDepth: 2})
		dialed <- err
	}()
	req, err := ln.Accept(ctx) // after the dial event
	must(err)
	_, err = s.qp.PostRecv([]verbs.RecvWR{{WRID: 1, SGL: []verbs.SGE{{MR: s.mr, Offset: 32, Length: 32}}}})
	must(err)
	_, err = req.Accept(ctx, s.qp, nil)
	must(err)
	must(<-dialed)
	setUp := len(rec.Events())

	must(s.cq.Arm(true))
	_, err = c.qp.PostSend([]verbs.SendWR{
		{WRID: 0x10, Opcode: verbs.RDMAWrite, SGL: []verbs.SGE{{MR: c.mr, Length: 16}}, RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()},
		{WRID: 0x11, Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited, SGL: []verbs.SGE{{MR: c.mr, Length: 8}, {MR: c.mr, Length: 4}}},
		{WRID: 0x12, Opcode: verbs.Send, SGL: []verbs.SGE{{MR: c.mr, Offset: 60, Length: 8}}},
		{WRID: 0x13, Opcode: verbs.LocalInvalidate, InvalidateRKey: c.mr.RKey()},
	})
	if !errors.Is(err, verbs.ErrInvalidWR) {
		t.Fatal(err)
	}
	wcs := make([]verbs.WC, 8)
	for _, e := range []end{s, c} {
		if k, err := e.cq.Poll(wcs); k != 1 || err != nil {
			t.Fatalf("%d completions, %v", k, err)
		}
	}
	_, err = c.qp.PostRecv([]verbs.RecvWR{{WRID: 2}})
	must(err)
	_, err = s.qp.PostSend([]verbs.SendWR{{WRID: 0x20, Opcode: verbs.SendWithInvalidate, InvalidateRKey: c.mr.RKey()}})
	must(err)
	c.cq.Poll(wcs)
	_, err = c.qp.PostSend([]verbs.SendWR{{WRID: 0x14, Opcode: verbs.Send}})
	must(err)
	c.cq.Poll(wcs)
	must(c.mr.Invalidate())
	must(c.mr.Reregister(c.mr.Bytes()[:8], 0))
	must(ln.Close())
	for _, e := range []end{c, s} {
		must(e.qp.Close())
		must(e.mr.Deregister())
		must(e.cq.Close())
		must(e.pd.Close())
		must(e.dev.Close())
	}

	var text strings.Builder
	for _, e := range rec.Events()[setUp:] {
		text.WriteString(e.String() + "\n")
	}
	if d := cmp.Diff(wantText, text.String()); d != "" {
		t.Errorf("(-want +got):\n%s\n%s", d, text.String())
	}
}

const wantText = `   16 server     cq2    arm        solicited only
   17 client     qp1    post       write id 0x10, 16 bytes in 1 to key 0xfeea9b75 at 0x692f5af4f000
   18 client     qp1    post       send id 0x11, 12 bytes in 2, signaled|solicited
   19 client     qp1    post       send id 0x12, 8 bytes in 1
   20 client     qp1    post       local-invalidate id 0x13, invalidates key 0xc968cb39
   21 server     cq2    notify
   22 client     qp1    refused    send id 0x12, 8 bytes in 1: mem: queue pair 1: request 2 of 4 (send, id 0x12): element 0: offset 60 and length 8 are not within the 64 bytes of the region: verbs: invalid work request
   23 client     qp1    refused    local-invalidate id 0x13, invalidates key 0xc968cb39
   24 server     qp2    complete   recv id 0x1, 12 bytes
   25 client     qp1    complete   send id 0x11
   26 client     qp1    post       recv id 0x2, room for 0 bytes in 0
   27 server     qp2    post       send-invalidate id 0x20, 0 bytes in 0, invalidates key 0xc968cb39
   28 client     qp1    complete   recv id 0x2, 0 bytes, our key 0xc968cb39 invalidated
   29 client     qp1    post       send id 0x14, 0 bytes in 0
   30 client     qp1    lost       verbs: connection broken by an error: request 0x14 of queue pair 1: message of 0 bytes, but the peer has no Receive posted: verbs: receiver not ready
   31 server     qp2    lost       verbs: connection broken by an error: queue pair 2: peer's request 0x14: message of 0 bytes, but the peer has no Receive posted: verbs: receiver not ready
   32 client     qp1    complete   id 0x14: receiver not ready
   33 client            invalidate key 0xc968cb39
   34 client            reregister key 0x00000000 at 0x0, 8 bytes, local-read
   35 server            close-listener "nfs"
   36 client     qp1    close-qp
   37 client            deregister key 0x00000000
   38 client     cq1    close-cq
   39 client            close-pd
   40 client            close-device
   41 server     qp2    close-qp
   42 server            deregister key 0xfeea9b75
   43 server     cq2    close-cq
   44 server            close-pd
   45 server            close-device
`

// The event of each Send has its first Config.Head bytes, from all its elements. Events of other
// requests have no bytes, and invalid elements add no bytes.
func TestEventsHaveTheFirstBytes(t *testing.T) {
	for _, tc := range []struct {
		head int
		op   verbs.Opcode
		sgl  func(mr verbs.MemoryRegion) []verbs.SGE
		want string
	}{
		{0, verbs.Send, func(mr verbs.MemoryRegion) []verbs.SGE { return []verbs.SGE{{MR: mr, Length: 8}} }, ""},
		{4, verbs.Send, func(mr verbs.MemoryRegion) []verbs.SGE { return []verbs.SGE{{MR: mr, Length: 8}} }, "0123"},
		{8, verbs.Send, func(mr verbs.MemoryRegion) []verbs.SGE {
			return []verbs.SGE{{MR: mr, Offset: 4, Length: 3}, {MR: mr}, {MR: mr, Length: 2}}
		}, "45601"},
		{8, verbs.Send, func(mr verbs.MemoryRegion) []verbs.SGE {
			return []verbs.SGE{{MR: mr, Length: 2}, {MR: mr, Offset: 7, Length: 2}}
		}, "01"},
		{8, verbs.Send, func(mr verbs.MemoryRegion) []verbs.SGE { return []verbs.SGE{{Length: 2}} }, ""},
		{8, verbs.SendWithInvalidate, func(mr verbs.MemoryRegion) []verbs.SGE { return []verbs.SGE{{MR: mr, Length: 8}} }, "01234567"},
		{8, verbs.RDMAWrite, func(mr verbs.MemoryRegion) []verbs.SGE { return []verbs.SGE{{MR: mr, Length: 8}} }, ""},
	} {
		rec := trace.NewRecorder(100)
		tr := trace.New(trace.Config{Sink: rec.Add, Head: tc.head})
		d, err := mem.New(nil).Open("one", nil)
		if err != nil {
			t.Fatal(err)
		}
		dev := tr.Device(d)
		pd, err := dev.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		cq, err := dev.CreateCQ(16, nil)
		if err != nil {
			t.Fatal(err)
		}
		qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 8, MaxRecvWR: 8})
		if err != nil {
			t.Fatal(err)
		}
		mr, err := pd.RegisterMemory([]byte("01234567"), 0)
		if err != nil {
			t.Fatal(err)
		}
		// Refused, as it is not connected; the event comes before the refusal.
		qp.PostSend([]verbs.SendWR{{Opcode: tc.op, SGL: tc.sgl(mr)}})
		events := rec.Events()
		got := events[len(events)-2]
		if got.Kind != trace.PostSend || got.Head != tc.want {
			t.Errorf("%v, head %d: %v with %q, want %q", tc.op, tc.head, got.Kind, got.Head, tc.want)
		}
		if tc.want != "" && !strings.HasSuffix(got.String(), fmt.Sprintf(", begins %x", tc.want)) {
			t.Errorf("text %q does not tell", got)
		}
	}
}

func TestRecorderKeepsTheLastEvents(t *testing.T) {
	rec := trace.NewRecorder(3)
	for i := range uint64(5) {
		rec.Add(trace.Event{Seq: i + 1, Device: "d", Kind: trace.AllocPD, Time: time.Unix(0, 0).UTC()})
	}
	var b strings.Builder
	n, err := rec.WriteTo(&b)
	want := "... 2 earlier events dropped\n" +
		"    3 00:00:00.000000 d                 alloc-pd\n" +
		"    4 00:00:00.000000 d                 alloc-pd\n" +
		"    5 00:00:00.000000 d                 alloc-pd\n"
	if err != nil || n != int64(len(want)) || b.String() != want {
		t.Errorf("%d bytes, %v:\n%s", n, err, b.String())
	}
	full := errors.New("disk full")
	if _, err := rec.WriteTo(failing{full}); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
	for k := trace.AllocPD; k <= trace.CloseDevice; k++ {
		if strings.HasPrefix(k.String(), "Kind(") {
			t.Errorf("kind %d has no name", k)
		}
	}
	if s := trace.Kind(200).String(); s != "Kind(200)" {
		t.Errorf("unknown kind is called %q", s)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
