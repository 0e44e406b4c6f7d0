package strangertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

const (
	local    = "127.0.0.1:0"
	patience = stranger.Patience

	everything = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite | verbs.AccessRemoteInvalidate
)

// config returns a Config with which a Send that finds no Receive fails at once, and the provider
// sends nothing of its own accord or late.
func config() *iwarp.Config {
	return &iwarp.Config{ReceiveTimeout: -1, Without: iwarp.WakeUp, FirstDelay: -1}
}

// open opens a device, which is closed after all its objects.
func open(t testing.TB, cfg *iwarp.Config) *iwarp.Device {
	t.Helper()
	d, err := iwarp.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// host is a queue pair of the provider, with what it needs.
type host struct {
	t    testing.TB
	dev  *iwarp.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	qp   verbs.QueuePair
	wake <-chan struct{}
	lost <-chan struct{}

	recvs   verbs.MemoryRegion // of Receives
	posted  int                // bytes of recvs in use
	open    []slot             // the posted Receives
	regions map[string]verbs.MemoryRegion
	early   []verbs.WC
}

// slot is the memory of a Receive.
type slot struct{ at, size int }

const recvBytes = 1 << 18

// newHost returns a host in StateInit.
func newHost(t testing.TB, dev *iwarp.Device) *host {
	t.Helper()
	h := &host{t: t, dev: dev, regions: make(map[string]verbs.MemoryRegion)}
	var err error
	h.pd, err = dev.AllocPD()
	h.must(err)
	notify, wake := verbs.NotifyChannel()
	lost, gone := verbs.NotifyChannel()
	h.wake, h.lost = wake, gone
	h.cq, err = dev.CreateCQ(512, notify)
	h.must(err)
	h.qp, err = h.pd.CreateQP(verbs.QPConfig{SendCQ: h.cq, RecvCQ: h.cq, MaxSendWR: 256, MaxRecvWR: 256, Notify: lost})
	h.must(err)
	h.recvs, err = h.pd.RegisterMemory(make([]byte, recvBytes), verbs.AccessLocalWrite)
	h.must(err)
	t.Cleanup(func() {
		h.must(h.qp.Close())
		for _, mr := range h.regions {
			h.must(mr.Deregister())
		}
		h.must(h.recvs.Deregister())
		h.must(h.cq.Close())
		h.must(h.pd.Close())
	})
	return h
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		if h.qp != nil && h.qp.Err() != nil {
			err = fmt.Errorf("%w; %w", err, h.qp.Err())
		}
		h.t.Fatal(err)
	}
}

// region registers memory under a name.
func (h *host) region(name string, b []byte, access verbs.Access) verbs.MemoryRegion {
	h.t.Helper()
	mr, err := h.pd.RegisterMemory(b, access)
	h.must(err)
	h.regions[name] = mr
	return mr
}

// post posts Receives of these sizes.
func (h *host) post(sizes ...int) {
	h.t.Helper()
	for _, n := range sizes {
		if h.posted+n > recvBytes {
			h.posted = 0
		}
		wr := verbs.RecvWR{}
		if n > 0 {
			wr.SGL = []verbs.SGE{{MR: h.recvs, Offset: h.posted, Length: n}}
		}
		_, err := h.qp.PostRecv([]verbs.RecvWR{wr})
		h.must(err)
		h.open = append(h.open, slot{h.posted, n})
		h.posted += n
	}
}

// send posts a request, which completes.
func (h *host) send(wr verbs.SendWR) error {
	wr.Flags |= verbs.SendSignaled
	_, err := h.qp.PostSend([]verbs.SendWR{wr})
	return err
}

// next waits for a completion.
func (h *host) next() verbs.WC {
	h.t.Helper()
	wc, err := h.wait(patience)
	if err != nil {
		h.t.Fatal(err)
	}
	return wc
}

func (h *host) wait(atMost time.Duration) (verbs.WC, error) {
	var wcs [1]verbs.WC
	limit := time.NewTimer(atMost)
	defer limit.Stop()
	for {
		if n, err := h.cq.Poll(wcs[:]); n == 1 || err != nil {
			return wcs[0], err
		}
		h.cq.Arm(false)
		if n, _ := h.cq.Poll(wcs[:]); n == 1 {
			return wcs[0], nil
		}
		select {
		case <-h.wake:
		case <-limit.C:
			return verbs.WC{}, fmt.Errorf("no completion; %v", h.qp.Err())
		}
	}
}

// completion waits for a completion of a kind, and keeps others for later.
func (h *host) completion(op verbs.WCOpcode) (verbs.WC, error) {
	for i, wc := range h.early {
		if wc.Opcode == op {
			h.early = append(h.early[:i:i], h.early[i+1:]...)
			return wc, wc.Err()
		}
	}
	for {
		wc, err := h.wait(patience)
		if err != nil || wc.Status != verbs.StatusSuccess {
			return wc, errors.Join(err, wc.Err(), h.qp.Err())
		}
		if wc.Opcode == op {
			return wc, nil
		}
		h.early = append(h.early, wc)
	}
}

// message waits for a message.
func (h *host) message() (payload []byte, wc verbs.WC, err error) {
	wc, err = h.completion(verbs.WCRecv)
	if err != nil {
		return nil, wc, err
	}
	s := h.open[0]
	h.open = h.open[1:]
	return bytes.Clone(h.recvs.Bytes()[s.at : s.at+int(wc.ByteLen)]), wc, nil
}

// ended waits for the end of the connection and returns its reason.
func (h *host) ended() error {
	h.t.Helper()
	select {
	case <-h.lost:
	case <-time.After(patience):
		h.t.Fatal("the connection still stands")
	}
	return h.qp.Err()
}

// accept connects the host as the responder: a stranger initiates.
func (h *host) accept(cfg stranger.Config, params *verbs.ConnParams) (*stranger.Endpoint, *verbs.ConnInfo) {
	h.t.Helper()
	info, result := h.serve(params)
	p, err := stranger.Initiate(h.dialTo(<-info), cfg)
	h.must(err)
	h.t.Cleanup(p.Close)
	r := <-result
	h.must(r.err)
	return p, r.info
}

// connected is the result of a Dial or Accept.
type connected struct {
	info *verbs.ConnInfo
	err  error
}

// serve accepts one connection request. It returns the address, and then the result.
func (h *host) serve(params *verbs.ConnParams) (<-chan string, <-chan connected) {
	h.t.Helper()
	ln, err := h.dev.Listen(context.Background(), local)
	h.must(err)
	h.t.Cleanup(func() { ln.Close() })
	addr, result := make(chan string, 1), make(chan connected, 1)
	addr <- ln.Addr()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		req, err := ln.Accept(ctx)
		if err != nil {
			result <- connected{nil, err}
			return
		}
		info, err := req.Accept(ctx, h.qp, params)
		result <- connected{info, err}
	}()
	return addr, result
}

// dialTo opens a plain stream.
func (h *host) dialTo(addr string) net.Conn {
	h.t.Helper()
	conn, err := net.Dial("tcp", addr)
	h.must(err)
	h.t.Cleanup(func() { conn.Close() })
	return conn
}

// dial connects the host as the initiator. It returns the other end of the stream, and then the
// result.
func (h *host) dial(params *verbs.ConnParams) (net.Conn, <-chan connected) {
	h.t.Helper()
	return h.dialFor(patience, params)
}

// dialFor does the same with a limit on the time.
func (h *host) dialFor(limit time.Duration, params *verbs.ConnParams) (net.Conn, <-chan connected) {
	h.t.Helper()
	ln, err := net.Listen("tcp", local)
	h.must(err)
	defer ln.Close()
	result := make(chan connected, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		info, err := h.dev.Dial(ctx, ln.Addr().String(), h.qp, params)
		result <- connected{info, err}
	}()
	conn, err := ln.Accept()
	h.must(err)
	h.t.Cleanup(func() { conn.Close() })
	return conn, result
}

// respond connects the host as the initiator: a stranger responds.
func (h *host) respond(cfg stranger.Config, params *verbs.ConnParams) (*stranger.Endpoint, *verbs.ConnInfo) {
	h.t.Helper()
	conn, result := h.dial(params)
	p, err := stranger.Respond(conn, cfg)
	h.must(err)
	h.t.Cleanup(p.Close)
	r := <-result
	h.must(r.err)
	return p, r.info
}

// connect connects the host in either role. Both sides can send when it returns.
func (h *host) connect(initiator bool, cfg stranger.Config, params *verbs.ConnParams) *stranger.Endpoint {
	h.t.Helper()
	if !initiator {
		p, _ := h.accept(cfg, params)
		return p
	}
	p, _ := h.respond(cfg, params)
	// The responder may send behind the first FPDU (RFC 5044 §7.1.2 rule 4).
	h.must(h.send(verbs.SendWR{Opcode: verbs.RDMAWrite}))
	if _, err := h.completion(verbs.WCRDMAWrite); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// noComplaints checks that the provider kept the rules for senders.
func noComplaints(t testing.TB, p *stranger.Endpoint) {
	t.Helper()
	for _, c := range p.Complaints() {
		t.Error(c)
	}
}

// enhanced returns a frame of revision 2 with depths.
func enhanced(crc bool) stranger.Startup {
	return stranger.Startup{CRC: crc, Enhanced: true, IRD: 16, ORD: 16}
}
