package rdmaio_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
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

// RFC 8166 §4.5.4, R329: who cannot invalidate closes the connection before the
// caller has its memory back, and says so although the reply came.
func TestCannotInvalidate(t *testing.T) {
	w := newWorld(t)
	w.serve(&file{t: t, data: pattern(5000, 1)}, nil)
	fired := 0
	w.client = stubborn{w.client, &fired}
	c := w.dial(&rdmaio.Config{RemoteInvalidate: -1}) // or the server would do it
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
	list := w.since(0)
	if !strings.Contains(render(list), "lost") {
		t.Error("the queue pair was not disconnected")
	}
	if st := c.Stats(); st.Regions != 0 {
		t.Errorf("%+v", st)
	}
}
