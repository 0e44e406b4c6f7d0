package wireshark_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// message is a message of the capture.
type message struct {
	data       []byte
	fromServer bool
	invalidate bool // it invalidates a key
}

// unhex returns the bytes of words in hex.
func unhex(t testing.TB, words string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(words, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// end is one end of the connection that is captured.
type end struct {
	cq verbs.CompletionQueue
	qp verbs.QueuePair
	mr verbs.MemoryRegion // of messages
	t  *testing.T

	notified <-chan struct{} // by cq

	offered verbs.MemoryRegion // whose key the other end may invalidate, once
}

// newEnd returns an end with a registered buffer.
func newEnd(t *testing.T, dev verbs.Device) *end {
	t.Helper()
	e := &end{t: t}
	pd, err := dev.AllocPD()
	e.must(err)
	notify, notified := verbs.NotifyChannel()
	e.notified = notified
	e.cq, err = dev.CreateCQ(16, notify)
	e.must(err)
	e.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: 4, MaxRecvWR: 4})
	e.must(err)
	e.mr, err = pd.RegisterMemory(make([]byte, 2<<16), verbs.AccessLocalWrite)
	e.must(err)
	e.offered, err = pd.RegisterMemory(make([]byte, 8), verbs.AccessLocalWrite|verbs.AccessRemoteWrite|verbs.AccessRemoteInvalidate)
	e.must(err)
	t.Cleanup(func() {
		e.must(errors.Join(e.qp.Close(), e.mr.Deregister(), e.offered.Deregister(), e.cq.Close(), pd.Close(), dev.Close()))
	})
	return e
}

func (e *end) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// send sends a message to another end.
func (e *end) send(to *end, m message) {
	e.t.Helper()
	const half = 1 << 16 // messages received are in the upper half of a buffer
	_, err := to.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: to.mr, Offset: half, Length: half}}}})
	e.must(err)
	n := copy(e.mr.Bytes()[:half], m.data)
	wr := verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: e.mr, Length: n}}}
	if m.invalidate {
		wr.Opcode, wr.InvalidateRKey = verbs.SendWithInvalidate, to.offered.RKey()
	}
	_, err = e.qp.PostSend([]verbs.SendWR{wr})
	e.must(err)
	e.complete()
	to.complete()
}

// complete waits for a completion, which must be a success.
func (e *end) complete() {
	e.t.Helper()
	wcs := make([]verbs.WC, 1)
	for {
		k, err := e.cq.Poll(wcs)
		e.must(err)
		if k == 0 { // again after Arm: it may have come between the two
			e.must(e.cq.Arm(false))
			k, err = e.cq.Poll(wcs)
			e.must(err)
		}
		if k > 0 {
			e.must(wcs[0].Err())
			return
		}
		select {
		case <-e.notified:
		case <-time.After(10 * time.Second):
			e.t.Fatal("no completion within 10 s")
		}
	}
}

// connect connects two ends.
func connect(cdev, sdev verbs.Device, client, server *end, addr string) {
	client.t.Helper()
	ctx := context.Background()
	l, err := sdev.Listen(ctx, addr)
	client.must(err)
	dialed := make(chan error)
	go func() {
		_, err := cdev.Dial(ctx, l.Addr(), client.qp, nil)
		dialed <- err
	}()
	req, err := l.Accept(ctx)
	client.must(err)
	_, err = req.Accept(ctx, server.qp, nil)
	client.must(err)
	client.must(<-dialed)
	client.must(l.Close())
}

// capture returns the name of a capture of the messages, as the client's end sees them.
func capture(t *testing.T, messages []message) string {
	t.Helper()
	var file bytes.Buffer
	network := mem.New(nil)
	inner, err := network.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	sdev, err := network.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	pcap := trace.NewCapture(&file, 0)
	cdev := trace.New(trace.Config{Sink: func(trace.Event) {}, Capture: pcap, Now: func() time.Time { now = now.Add(time.Millisecond); return now }}).Device(inner)
	client, server := newEnd(t, cdev), newEnd(t, sdev)
	connect(cdev, sdev, client, server, "there")
	for _, m := range messages {
		from, to := client, server
		if m.fromServer {
			from, to = to, from
		}
		from.send(to, m)
	}
	client.must(pcap.Err())
	name := filepath.Join(t.TempDir(), "messages.pcapng")
	client.must(os.WriteFile(name, file.Bytes(), 0o600))
	return name
}

// dissect returns the lines that tshark with the dissector prints of a capture, without those of
// connection setup.
func dissect(t *testing.T, name string, args ...string) []string {
	t.Helper()
	out := tshark.Run(t, tshark.Input{File: name, Scripts: []string{"rpcrdma2.lua"}}, args...)
	all := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	return all[min(2, len(all)):]
}
