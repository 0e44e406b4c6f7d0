package rdmaio_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// stubborn is a device whose keys, once given to a peer, cannot be ended but
// with the connection.
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
	*m.fired++
	return errStubborn
}

// RFC 8166 §4.5.4, R329: a side that cannot invalidate closes the connection before the caller has
// its memory back, and reports that although the reply came.
func TestCannotInvalidate(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(&file{t: t, data: rdmaiotest.Pattern(5000, 1)}, nil)
	fired := 0
	w.Client = stubborn{w.Client, &fired}
	c := w.Dial(&rdmaio.Config{RemoteInvalidate: -1}) // or the server would do it
	_, err := c.Call(context.Background(), readCall(1, 0, make([]byte, 5000)))
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
	if st := c.Stats(); st.Regions != 0 {
		t.Errorf("%+v", st)
	}
}

// R303: keys are invalidated before the results are read. With a bad Reply and a key that cannot be
// invalidated, the error is about the key.
func TestKeysEndFirst(t *testing.T) {
	w := rdmaiotest.New(t)
	fired := 0
	w.Client = stubborn{w.Client, &fired}
	p, c := dialRaw(w, nil)
	call := nullCall(7, 40)
	call.ReplyBuf = make([]byte, 4096)
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), call)
		done <- err
	}()
	got := p.Message(peertest.Patience)
	o := readOffers(t, got)
	reply := unusedReply(got, &o, nil)
	reply[15] = 1 // RDMA_NOMSG
	copy(reply[len(reply)-12:], []byte{0, 0, 0, 40})
	if !p.Write(o.reply[0].key, o.reply[0].at, rdmaiotest.Pattern(40, 1)) {
		t.Error("the reply chunk cannot be written")
	}
	p.Send(reply)
	var f *rdmaio.Fault
	if err := <-done; !errors.Is(err, errStubborn) || errors.As(err, &f) || fired != 1 {
		t.Errorf("%v after %d attempts", err, fired)
	}
}
