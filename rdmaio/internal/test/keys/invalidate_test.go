package keys

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// stubborn is a device whose keys, once given to a peer, stay valid until the connection is closed.
// fired counts attempts to invalidate them. One that makes it 0 succeeds.
type stubborn struct {
	verbs.Device
	fired *int
}

type stubbornPD struct {
	verbs.ProtectionDomain
	fired *int
}

type stubbornMR struct {
	verbs.MemoryRegion
	fired *int
}

var errStubborn = errors.New("cannot be invalidated")

func (d stubborn) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	return stubbornPD{pd, d.fired}, err
}

func (p stubbornPD) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	mr, err := p.ProtectionDomain.RegisterMemory(buf, access)
	if err != nil || !access.Remote() {
		return mr, err
	}
	return stubbornMR{mr, p.fired}, nil
}

func (m stubbornMR) Invalidate() error {
	if *m.fired++; *m.fired == 0 {
		return m.MemoryRegion.Invalidate()
	}
	return errStubborn
}

// RFC 8166 §4.5.4, R329: a side that cannot invalidate closes the connection before the caller has
// its memory back, and reports that although the reply came.
func TestFailedInvalidationEndsTheConnection(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { failedInvalidation(t, do, 1) })
		t.Run(form+", the second key", func(t *testing.T) { failedInvalidation(t, do, 2) })
	}
}

func failedInvalidation(t *testing.T, do rpctest.Form, keys int) {
	w := rdmaiotest.New(t)
	w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(5000, 1)}, nil)
	fired := 1 - keys
	w.Client = stubborn{w.Client, &fired}
	c := w.Dial(&rdmaio.Config{RemoteInvalidate: -1}) // or the server would do it
	call := rpctest.ReadCall(1, 0, make([]byte, 5000))
	if keys > 1 {
		call.Results = append(call.Results, make([]byte, 5000))
	}
	_, err := do(c, context.Background(), call)
	var ce *rdmaio.CallError
	if !errors.Is(err, errStubborn) || !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Errorf("Call: %v", err)
	}
	select {
	case <-c.Done():
	default:
		t.Error("the connection goes on with a live key")
	}
	if !errors.Is(c.Err(), errStubborn) || fired != 1 {
		t.Errorf("ended with %v after %d attempts", c.Err(), fired)
	}
	for end := time.Now().Add(10 * time.Second); !strings.Contains(rdmaiotest.Render(w.Since(0)), "lost"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the queue pair was not disconnected")
		}
	}
	if st := c.Stats(); st.Regions != keys-1 { // the one whose key was invalidated is kept
		t.Errorf("%+v", st)
	}
}

// R303: keys are invalidated before the results are read. With a bad Reply and a key that cannot be
// invalidated, the error is about the key.
func TestKeysEndBeforeResultsAreRead(t *testing.T) {
	w := rdmaiotest.New(t)
	fired := 0
	w.Client = stubborn{w.Client, &fired}
	p, c := rdmaiotest.DialRaw(w, nil)
	call := rpctest.NullCall(7, 40)
	call.ReplyBuf = make([]byte, 4096)
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), call)
		done <- err
	}()
	got := p.Message(peertest.Patience)
	o := peertest.ReadOffers(t, got)
	reply := peertest.UnusedReply(got, &o, nil)
	reply[15] = 1 // RDMA_NOMSG
	copy(reply[len(reply)-12:], []byte{0, 0, 0, 40})
	if !p.Write(o.Reply[0].Key, o.Reply[0].Addr, rdmaiotest.Pattern(40, 1)) {
		t.Error("the reply chunk cannot be written")
	}
	p.Send(reply)
	var f *rdmaio.Fault
	if err := <-done; !errors.Is(err, errStubborn) || errors.As(err, &f) || fired != 1 {
		t.Errorf("%v after %d attempts", err, fired)
	}
}

// R265: one side is enough to switch it off, and then each key is invalidated by its owner.
func TestEitherSideMayLeaveOffInvalidation(t *testing.T) {
	off, on := &rdmaio.Config{RemoteInvalidate: -1, NonBlocking: true}, &rdmaio.Config{NonBlocking: true}
	for name, c := range map[string]struct{ client, server *rdmaio.Config }{
		"client off": {off, on}, "server off": {on, off}, "both off": {off, off},
	} {
		t.Run(name, func(t *testing.T) {
			rdmaiotest.EachSteady(t, func(t *testing.T, w *rdmaiotest.World) {
				f := &rpctest.File{T: t}
				w.Serve(f, c.server)
				conn := w.Dial(c.client)
				// This Call allows the memory for the next ones (TestMemoryFollowsDelivery).
				rpctest.Writes(t, conn, f)
				for _, shape := range []string{"write", "read"} {
					mark := w.Mark()
					if shape == "write" {
						rpctest.Writes(t, conn, f)
					} else {
						rpctest.Reads(t, conn, f)
					}
					list := w.Since(mark)
					if name == "both off" {
						w.Golden(t, "testdata/"+shape+"-plain.golden", list)
					}
					rdmaiotest.KeysEnded(t, list, 1)
					if n := rdmaiotest.Count(list, func(e *trace.Event) bool {
						return e.Opcode == verbs.SendWithInvalidate || e.Access&verbs.AccessRemoteInvalidate != 0
					}); n != 0 {
						t.Errorf("%s: %d events of remote invalidation", shape, n)
					}
				}
				if st := conn.Stats(); st.RemoteInvalidate || st.RemoteInvalidations != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// R263, T79: of several keys the server invalidates one, and the client all others and only those;
// each exactly once.
func TestServerEndsOneKeyOfSeveral(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		w.Serve(rpctest.Echo{Items: []int{2000, 1500}}, nil)
		c := w.Dial(nil)
		for try := range uint32(3) {
			e := rpctest.CallHeader(try, 0)
			e.Opaque("item", rdmaiotest.Pattern(4000, 1))
			call := &rdmaio.Call{Message: e.Message(), Results: [][]byte{make([]byte, 2000), make([]byte, 2000)}, ReplyBuf: make([]byte, 4000)}
			mark := len(w.History.Events())
			if _, err := c.Call(context.Background(), call); err != nil {
				t.Fatal(err)
			}
			list := w.Since(mark)
			rdmaiotest.KeysEnded(t, list, 4)
			own := rdmaiotest.Count(list, func(e *trace.Event) bool { return e.Device == "client" && e.Kind == trace.Invalidate })
			theirs := rdmaiotest.Count(list, func(e *trace.Event) bool { return e.Device == "client" && e.InvalidateRKey != 0 })
			if own != 3 || theirs != 1 {
				t.Errorf("%d keys ended by the client, %d by the server", own, theirs)
			}
		}
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.RemoteInvalidations == 3 && st.FaultyMessages == 0 })
	})
}

// B19, R264: a server that invalidates the key of another Call in flight loses the connection: both
// Calls fail, and the peer can access neither Call's memory any more.
func TestEndOfAnotherCallsKeyEndsTheConnection(t *testing.T) {
	w := rdmaiotest.New(t)
	ln, err := w.Server.Listen(context.Background(), "there")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := peertest.New(t, w.Server)
	over := make(chan struct{})
	go func() {
		defer close(over)
		req, err := ln.Accept(context.Background())
		if err == nil {
			if got := hex.EncodeToString(req.PrivateData()); got != "f6ab0e1801010000" {
				t.Errorf("the client says %s", got)
			}
			_, err = req.Accept(context.Background(), p.QP, &verbs.ConnParams{PrivateData: peertest.Bytes(t, "f6ab0e180101 0303")})
		}
		if err != nil {
			t.Error(err)
			return
		}
		p.Message(peertest.Patience)
		p.Send(peertest.Bytes(t, "00000001 00000001 00000002 00000000 00000000 00000000 00000000 00000001 00000001 00000000 00000000 00000000 00000000"))
		first, second := p.Message(peertest.Patience), p.Message(peertest.Patience)
		if len(first) < 32 || len(second) < 32 {
			t.Error("two Calls did not come")
			return
		}
		n := copy(p.Mem, append(append([]byte(nil), first[:16]...), make([]byte, 20)...))
		if _, err := p.QP.PostSend([]verbs.SendWR{{
			WRID: 1 << 33, Opcode: verbs.SendWithInvalidate, SGL: []verbs.SGE{{MR: p.MR, Length: n}},
			InvalidateRKey: binary.BigEndian.Uint32(second[28:32]),
		}}); err != nil {
			t.Error(err)
		}
	}()
	c := w.Dial(nil)
	if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for xid := range uint32(2) {
		go func() {
			_, err := c.Call(context.Background(), rpctest.ReadCall(2+xid, 0, make([]byte, 4096)))
			errs <- err
		}()
	}
	for range 2 {
		var ce *rdmaio.CallError
		if err := <-errs; !errors.Is(err, rdmaio.ErrInvalidated) || !errors.As(err, &ce) || !ce.MayHaveRun {
			t.Errorf("Call: %v", err)
		}
	}
	if !errors.Is(c.Err(), rdmaio.ErrInvalidated) {
		t.Errorf("the connection: %v", c.Err())
	}
	<-over
}

// Invalidation of a key by the late reply to a cancelled Call does no harm where the key outlives
// the Call, and costs the connection where it does not (R289, R290).
func TestLateReplyMayEndItsKey(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		w := rdmaiotest.New(t)
		h := rpctest.Silent{Got: make(chan *rdmaio.Request, 1)}
		w.Serve(h, nil)
		if fixed {
			w.Client = fixedKeys{w.Client}
		}
		c := w.Dial(nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, rpctest.ReadCall(2, 0, make([]byte, 4096)))
			done <- err
		}()
		late := <-h.Got
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		late.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(2).Buf}, nil)
		if fixed {
			<-c.Done()
			if !errors.Is(c.Err(), verbs.ErrConnectionBroken) {
				t.Errorf("ended with %v", c.Err())
			}
			continue
		}
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.RemoteInvalidations == 1 && st.Regions == 0 })
	}
}
