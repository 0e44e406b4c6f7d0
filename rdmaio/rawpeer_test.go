package rdmaio_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// raw is a peer that speaks verbs only, so that it can break every rule above them.
type raw struct {
	t     *testing.T
	pd    verbs.ProtectionDomain
	cq    verbs.CompletionQueue
	qp    verbs.QueuePair
	mr    verbs.MemoryRegion // of all its messages
	mem   []byte
	ready <-chan struct{}
	lost  chan struct{}
	chunk verbs.MemoryRegion // what it offers to others
	data  []byte
	kept  []verbs.WC // polled and not asked for yet
}

const rawRecvs, rawSize = 16, 4096

// newRaw makes a raw peer on a device; it ends with the test.
func newRaw(t *testing.T, dev verbs.Device) *raw {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p := &raw{t: t, lost: make(chan struct{})}
	var err error
	p.pd, err = dev.AllocPD()
	must(err)
	notify, ready := verbs.NotifyChannel()
	p.ready = ready
	p.cq, err = dev.CreateCQ(128, notify)
	must(err)
	p.qp, err = p.pd.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq, MaxSendWR: 64, MaxRecvWR: 64, Notify: func() { close(p.lost) }})
	must(err)
	p.mem = make([]byte, (rawRecvs+1)*rawSize)
	p.mr, err = p.pd.RegisterMemory(p.mem, verbs.AccessLocalWrite)
	must(err)
	p.data = pattern(8192, 99)
	p.chunk, err = p.pd.RegisterMemory(p.data, verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite)
	must(err)
	for i := range rawRecvs {
		p.recv(uint64(i))
	}
	t.Cleanup(func() {
		for _, close := range []func() error{p.qp.Close, p.mr.Deregister, p.chunk.Deregister, p.cq.Close, p.pd.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func (p *raw) recv(id uint64) {
	sge := []verbs.SGE{{MR: p.mr, Offset: int(id) * rawSize, Length: rawSize}}
	if _, err := p.qp.PostRecv([]verbs.RecvWR{{WRID: id, SGL: sge}}); err != nil {
		p.t.Fatal(err)
	}
}

// send sends a message, as it is.
func (p *raw) send(b []byte) {
	p.t.Helper()
	off := rawRecvs * rawSize
	n := copy(p.mem[off:], b)
	sge := []verbs.SGE{{MR: p.mr, Offset: off, Length: n}}
	if _, err := p.qp.PostSend([]verbs.SendWR{{WRID: 1 << 32, Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: sge}}); err != nil {
		p.t.Fatal(err)
	}
	// The bytes are copied out before we go on.
	if wc, ok := p.poll(func(wc verbs.WC) bool { return wc.WRID == 1<<32 }, time.Second); !ok || wc.Status == verbs.StatusFlushed {
		p.t.Logf("send: %v", wc)
	}
}

// poll waits for a completion of a kind, and keeps others for later.
func (p *raw) poll(match func(verbs.WC) bool, wait time.Duration) (verbs.WC, bool) {
	timeout := time.After(wait)
	for armed := false; ; {
		for i, wc := range p.kept {
			if match(wc) {
				p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
				return wc, true
			}
		}
		var wcs [8]verbs.WC
		n, err := p.cq.Poll(wcs[:])
		if err != nil {
			p.t.Fatal(err)
		}
		p.kept = append(p.kept, wcs[:n]...)
		switch {
		case n > 0:
		case !armed:
			if err := p.cq.Arm(false); err != nil {
				p.t.Fatal(err)
			}
			armed = true
		default:
			select {
			case <-p.ready:
				armed = false
			case <-timeout:
				return verbs.WC{}, false
			}
		}
	}
}

// message waits for the next one and posts its Receive again; nil if none
// came in time.
func (p *raw) message(wait time.Duration) []byte {
	p.t.Helper()
	wc, ok := p.poll(func(wc verbs.WC) bool { return wc.WRID < rawRecvs }, wait)
	if !ok || wc.Status != verbs.StatusSuccess {
		return nil
	}
	b := append([]byte(nil), p.mem[wc.WRID*rawSize:][:wc.ByteLen]...)
	p.recv(wc.WRID)
	return b
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
