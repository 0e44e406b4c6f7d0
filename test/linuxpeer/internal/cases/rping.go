package cases

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// rping of librdmacm, from its source: for each ping the client sends the address, key and size of
// a buffer with text, which the server reads. After a message of the server the client sends
// those of another buffer, to which the server writes the text. A message ends the ping.
const (
	rpingMessage = 16 // address, key, size: 8, 4, 4 bytes
	rpingSize    = 256
	rpingPings   = 5
	rpingPort    = 7174
)

// rpingCases run rping between the guest's siw and the provider iwarp, in both roles.
func rpingCases() []Case {
	var all []Case
	for _, crc := range []bool{true, false} {
		suffix := ""
		if crc {
			suffix = "-crc"
		}
		all = append(all,
			Case{Name: "rping/client-of-siw" + suffix, Run: func(t *T) { rpingServer(t, crc) }},
			Case{Name: "rping/server-of-siw" + suffix, Run: func(t *T) { rpingClient(t, crc) }},
		)
	}
	return all
}

// rpingEnd is an end of rping of the provider iwarp.
type rpingEnd struct {
	t    *T
	dev  verbs.Device
	cq   verbs.CompletionQueue
	wake <-chan struct{}
	qp   verbs.QueuePair
	msg  verbs.MemoryRegion // one message to send, one to receive
	data verbs.MemoryRegion
}

func newRpingEnd(t *T, crc bool) *rpingEnd {
	e := &rpingEnd{t: t, dev: device(t, crc)}
	notify, wake := verbs.NotifyChannel()
	e.wake = wake
	pd, err := e.dev.AllocPD()
	t.Must(err)
	t.Cleanup(func() { t.Must(pd.Close()) })
	e.cq, err = e.dev.CreateCQ(64, notify)
	t.Must(err)
	t.Cleanup(func() { t.Must(e.cq.Close()) })
	region := func(n int, access verbs.Access) verbs.MemoryRegion {
		mr, err := pd.RegisterMemory(make([]byte, n), verbs.AccessLocalWrite|access)
		t.Must(err)
		t.Cleanup(func() { t.Must(mr.Deregister()) })
		return mr
	}
	e.msg = region(2*rpingMessage, 0)
	e.data = region(rpingSize, verbs.AccessRemoteRead|verbs.AccessRemoteWrite)
	e.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: 8, MaxRecvWR: 8})
	t.Must(err)
	t.Cleanup(func() { t.Must(e.qp.Close()) })
	e.receive()
	return e
}

// receive posts a Receive for a message.
func (e *rpingEnd) receive() {
	_, err := e.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: e.msg, Offset: rpingMessage, Length: rpingMessage}}}})
	e.t.Must(err)
}

// post posts a request and waits for its completion.
func (e *rpingEnd) post(wr verbs.SendWR) {
	wr.Flags = verbs.SendSignaled
	_, err := e.qp.PostSend([]verbs.SendWR{wr})
	e.t.Must(err)
	e.await(1)
}

// await waits for n completions.
func (e *rpingEnd) await(n int) {
	var wc [4]verbs.WC
	for n > 0 {
		k, err := e.cq.Poll(wc[:min(n, len(wc))])
		e.t.Must(err)
		for i := range wc[:k] {
			if err := wc[i].Err(); err != nil {
				e.t.Fatalf("%v: %v", err, e.qp.Err())
			}
		}
		if n -= k; k > 0 {
			continue
		}
		e.cq.Arm(false)
		if k, err = e.cq.Poll(wc[:1]); k == 1 {
			e.t.Must(wc[0].Err())
			n--
			continue
		}
		e.t.Must(err)
		select {
		case <-e.wake:
		case <-e.t.Context().Done():
			e.t.Fatalf("no completion: %v", e.qp.Err())
		}
	}
}

// send sends a message that names the first n bytes of the data.
func (e *rpingEnd) send(n int) {
	b := e.msg.Bytes()
	binary.BigEndian.PutUint64(b, e.data.RemoteAddr())
	binary.BigEndian.PutUint32(b[8:], e.data.RKey())
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	e.post(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: e.msg, Length: rpingMessage}}})
}

// got waits for the peer's message, and returns the buffer that it names.
func (e *rpingEnd) got() (addr uint64, key, size uint32) {
	e.await(1)
	b := bytes.Clone(e.msg.Bytes()[rpingMessage:])
	e.receive()
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
}

// move moves the buffer that a message names from or to the data.
func (e *rpingEnd) move(op verbs.Opcode, addr uint64, key uint32, n int) {
	e.post(verbs.SendWR{Opcode: op, RemoteAddr: addr, RKey: key, SGL: []verbs.SGE{{MR: e.data, Length: n}}})
}

// rpingServer is the server of the guest's rping.
func rpingServer(t *T, crc bool) {
	e := newRpingEnd(t, crc)
	ln, err := e.dev.Listen(t.Context(), "127.0.0.1:0")
	t.Must(err)
	t.Cleanup(func() { ln.Close() })
	_, port, err := net.SplitHostPort(ln.Addr())
	t.Must(err)
	client := t.Background("rping", "-c", "-v", "-V", "-C", fmt.Sprint(rpingPings), "-a", guest.HostAddr, "-p", port)
	req, err := ln.Accept(t.Context())
	t.Must(err)
	info, err := req.Accept(t.Context(), e.qp, &verbs.ConnParams{InitiatorDepth: 1, ResponderResources: 1})
	t.Must(err)
	for range rpingPings {
		addr, key, size := e.got()
		if size > rpingSize {
			t.Fatalf("rping names %d bytes, expected at most %d", size, rpingSize)
		}
		e.move(verbs.RDMARead, addr, key, int(size))
		if !bytes.HasPrefix(e.data.Bytes(), []byte("rdma-ping-")) {
			t.Errorf("read %q", e.data.Bytes()[:size])
		}
		e.send(0)
		addr, key, _ = e.got()
		e.move(verbs.RDMAWrite, addr, key, int(size))
		e.send(0)
	}
	out, err := client.Wait()
	t.Must(err)
	if n := strings.Count(out, "ping data: rdma-ping-"); n != rpingPings {
		t.Errorf("rping: %d of %d pings: %s", n, rpingPings, out)
	}
	t.Say("%d pings; depths %d and %d", rpingPings, info.InitiatorDepth, info.ResponderResources)
}

// rpingClient is a client of rping's server in the guest.
func rpingClient(t *T, crc bool) {
	t.Background("rping", "-s", "-P", "-v", "-a", "10.0.2.15", "-p", fmt.Sprint(rpingPort))
	t.AwaitListener(rpingPort)
	e := newRpingEnd(t, crc)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	info, err := e.dev.Dial(ctx, t.Forward(rpingPort), e.qp, &verbs.ConnParams{InitiatorDepth: 1, ResponderResources: 1})
	t.Must(err)
	for i := range rpingPings {
		text := fmt.Sprintf("rdma-ping-%d: the quick brown fox", i)
		clear(e.data.Bytes())
		copy(e.data.Bytes(), text)
		e.send(64)
		e.got() // the server has read it
		clear(e.data.Bytes())
		e.send(64)
		e.got() // and has written it
		if got := string(e.data.Bytes()[:len(text)]); got != text {
			t.Errorf("ping %d returns %q, expected %q", i, got, text)
		}
	}
	t.Must(e.qp.Disconnect())
	t.Say("%d pings; depths %d and %d", rpingPings, info.InitiatorDepth, info.ResponderResources)
}
