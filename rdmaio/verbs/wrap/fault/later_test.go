package fault_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

func once(k fault.Kind) fault.Config { return fault.Config{Script: []fault.Fault{{Kind: k, At: 1}}} }

// A peer whose Receives are missing or too short breaks the connection, and its Receives
// complete.
func TestMissingReceivesBreakTheConnection(t *testing.T) {
	for kind, status := range map[fault.Kind]string{
		fault.LoseRecv:  "1 receiver not ready",
		fault.ShortRecv: "1 remote invalid request",
	} {
		t.Run(kind.String(), func(t *testing.T) {
			inj, s, c := pair(t, once(kind))
			s.recvs(1)
			if accept, dial := connect(t, s, c); dial != nil || accept != nil {
				t.Fatal(dial, accept)
			}
			wr := c.wr(1, verbs.Send, s)
			wr.SGL[0].Length = 9
			if _, err := c.qp.PostSend([]verbs.SendWR{wr}); err != nil {
				t.Fatal(err)
			}
			c.wait(c.lost, "the end")
			s.wait(s.lost, "the peer's end")
			want(t, "sender", c.poll(), status)
			got := s.poll()
			if kind == fault.LoseRecv {
				want(t, "receiver", got, "100 flushed")
			} else {
				want(t, "receiver", got, "100 local length error")
			}
			fired(t, inj, kind)
		})
	}
}

// No Receive after a lost one reaches the provider, and all complete in order.
func TestReceivesBehindALostOne(t *testing.T) {
	_, s, c := pair(t, fault.Config{Script: []fault.Fault{{Kind: fault.LoseRecv, At: 2}}})
	s.recvs(4)
	if accept, dial := connect(t, s, c); dial != nil || accept != nil {
		t.Fatal(dial, accept)
	}
	c.send(1, verbs.Send, s)
	want(t, "the one before", s.poll(), "100 success")
	c.send(2, verbs.Send, s)
	c.wait(c.lost, "the end")
	s.wait(s.lost, "the peer's end")
	want(t, "sender", c.poll(), "1 success", "2 receiver not ready")
	want(t, "receiver", s.poll(), "101 flushed", "102 flushed", "103 flushed")
}

// Completions after a failed one come as flushed, even from a queue pair that was closed before
// they were polled.
func TestFailedThenClosed(t *testing.T) {
	inj, c, s := connected(t, once(fault.FailCompletion))
	s.recvs(3)
	for id := range uint64(3) {
		if err := c.send(id+1, verbs.Send, s); err != nil {
			t.Fatal(err)
		}
	}
	wcs := make([]verbs.WC, 1)
	if n, err := c.cq.Poll(wcs); n != 1 || err != nil || wcs[0].Status == verbs.StatusSuccess {
		t.Fatalf("%d completions, %+v, %v", n, wcs[0], err)
	}
	if err := c.qp.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "after Close", c.poll(), "2 flushed", "3 flushed")
	fired(t, inj, fault.FailCompletion)
}

func TestInvalidateFails(t *testing.T) {
	inj, c, _ := pair(t, once(fault.FailInvalidate))
	if err := c.mr.Invalidate(); !errors.Is(err, verbs.ErrBusy) || c.mr.State() != verbs.MRValid {
		t.Errorf("%v, region %v", err, c.mr.State())
	}
	if err := c.mr.Invalidate(); err != nil || c.mr.State() != verbs.MRInvalid {
		t.Errorf("again: %v, region %v", err, c.mr.State())
	}
	fired(t, inj, fault.FailInvalidate)
}

func TestNotificationsComeLateTwiceOrNever(t *testing.T) {
	for kind, times := range map[fault.Kind]int{fault.RepeatNotify: 2, fault.DelayNotify: 1, fault.LoseNotify: 0} {
		t.Run(kind.String(), func(t *testing.T) {
			inj, c, s := connected(t, once(kind))
			s.recvs(2)
			came := make(chan struct{}, 4)
			cq, err := c.dev.CreateCQ(8, func() { came <- struct{}{} })
			if err != nil {
				t.Fatal(err)
			}
			defer cq.Close()
			qp, err := c.pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer qp.Close()
			if _, err := qp.PostRecv([]verbs.RecvWR{{}}); err != nil {
				t.Fatal(err)
			}
			if err := cq.Arm(false); err != nil {
				t.Fatal(err)
			}
			if err := qp.Disconnect(); err != nil { // flushes the Receive
				t.Fatal(err)
			}
			for range times {
				select {
				case <-came:
				case <-time.After(5 * time.Second):
					t.Fatal("it did not come")
				}
			}
			if len(came) > 0 {
				t.Error("it came too often")
			}
			fired(t, inj, kind)
		})
	}
}

// A closed queue does not notify, not even with delay.
func TestNotificationAfterClose(t *testing.T) {
	inj, c, _ := pair(t, fault.Config{NotifyDelay: time.Hour, Script: []fault.Fault{{Kind: fault.DelayNotify, At: 1}}})
	c.recvs(1)
	if err := c.cq.Arm(false); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.qp.Disconnect(), c.qp.Close(), c.cq.Close()); err != nil {
		t.Fatal(err)
	}
	fired(t, inj, fault.DelayNotify)
}

// Removing a device closes its connections, and all its objects can be closed.
func TestRemovedDeviceEndsItsConnections(t *testing.T) {
	for at := uint64(1); ; at++ {
		inj := fault.New(fault.Config{Script: []fault.Fault{{Kind: fault.RemoveDevice, At: at}}})
		dev, _ := devices(t, inj)
		pd, err := dev.AllocPD()
		if err == nil {
			var mr verbs.MemoryRegion
			if mr, err = pd.RegisterMemory(make([]byte, 8), verbs.AccessRemoteRead); err == nil {
				err = errors.Join(mr.Invalidate(), mr.Deregister())
			}
			if e := pd.Close(); e != nil {
				t.Error(e)
			}
		}
		if inj.Count(fault.RemoveDevice).Fired == 0 {
			if at != 5 || err != nil {
				t.Errorf("%d calls, %v", at-1, err)
			}
			return
		}
		if (at <= 2) != errors.Is(err, verbs.ErrDeviceRemoved) {
			t.Errorf("removed before call %d: %v", at, err)
		}
	}
}
