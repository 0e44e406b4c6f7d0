package rdmatcp_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// over connects two sides over existing streams.
func over(t testing.TB, cfg *rdmatcp.Config, a, b net.Conn) (c, s *victim) {
	t.Helper()
	client, server := device(t, cfg), device(t, cfg)
	c, s = &victim{newSide(t, client), t}, &victim{newSide(t, server), t}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := client.DialConn(ctx, a, c.qp, nil)
		done <- err
	}()
	req, err := server.AcceptConn(ctx, b)
	if err == nil {
		_, err = req.Accept(ctx, s.qp, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return c, s
}

// exchange does Writes, Sends and Reads, long and short, and closes the connection in order.
func exchange(t *testing.T, c, s *victim) {
	t.Helper()
	for _, n := range []int{0, 1, 4096, rdmatcp.StageLimit + 1, 300_000} {
		for i := range c.mr.Bytes()[:n] {
			c.mr.Bytes()[i] = byte(i*31 + n)
		}
		want := bytes.Clone(c.mr.Bytes()[:n])
		s.recv(t, 8, 1)
		c.send(t, []verbs.SendWR{
			{Opcode: verbs.RDMAWrite, SGL: c.sge(n), RKey: s.mr.RKey(), RemoteAddr: 100},
			{Opcode: verbs.RDMARead, SGL: []verbs.SGE{{MR: c.mr, Offset: 500_000, Length: n}}, RKey: s.mr.RKey(), RemoteAddr: 100},
			{Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendFence},
		})
		if wc := s.next(); wc.Err() != nil || wc.Opcode != verbs.WCRecv {
			t.Fatalf("%d bytes: %+v, %v", n, wc, s.qp.Err())
		}
		if wc := c.next(); wc.Err() != nil || wc.Opcode != verbs.WCSend {
			t.Fatalf("%d bytes: %+v, %v", n, wc, c.qp.Err())
		}
		if !bytes.Equal(s.mr.Bytes()[100:100+n], want) || !bytes.Equal(c.mr.Bytes()[500_000:500_000+n], want) {
			t.Fatalf("%d bytes: others than those sent", n)
		}
	}
	if err := c.qp.Disconnect(); err != nil {
		t.Error(err)
	}
	s.fails(verbs.ErrPeerDisconnected)
	if broken := c.dev.Stats().Broken + s.dev.Stats().Broken; broken != 0 {
		t.Errorf("%d connections are counted as broken", broken)
	}
}

// tcpPair returns both ends of a TCP connection.
func tcpPair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	a, err = net.Dial("tcp", ln.Addr().String())
	if err == nil {
		b, err = ln.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// R12: a connection that has carried another protocol continues with RDMA, and payload is not
// copied.
func TestMidConnection(t *testing.T) {
	a, b := tcpPair(t)
	io.WriteString(a, "STARTRDMA")
	if _, err := io.ReadFull(b, make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	c, s := over(t, nil, a, b)
	exchange(t, c, s)
	const long = rdmatcp.StageLimit + 1 + 300_000 // the direct payload of exchange
	if got := c.dev.Stats(); got.SentDirect != long || got.SentStaged != 4097 {
		t.Errorf("client: %+v, want %d bytes sent directly and 4097 staged", got, long)
	}
	if got := s.dev.Stats(); got.ReceivedDirect+got.ReceivedStaged != long+4097 || got.ReceivedStaged > 4097+3*(16<<10) {
		t.Errorf("server: %+v, want the long ones received directly but for some read ahead", got)
	}
}

// Streams other than TCP connections work. Their payload is staged, which Stats shows.
func TestOtherStreams(t *testing.T) {
	for name, pair := range map[string]func(t *testing.T) (a, b net.Conn){
		"pipe": func(*testing.T) (a, b net.Conn) { return net.Pipe() },
		"TLS": func(t *testing.T) (a, b net.Conn) {
			a, b = tcpPair(t)
			return tls.Client(a, &tls.Config{InsecureSkipVerify: true}), tls.Server(b, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			c, s := over(t, nil, a, b)
			exchange(t, c, s)
			for _, d := range []*rdmatcp.Device{c.dev, s.dev} {
				if got := d.Stats(); got.SentDirect+got.ReceivedDirect != 0 || got.SentStaged != 1+4096+rdmatcp.StageLimit+1+300_000 || got.ReceivedStaged != got.SentStaged {
					t.Errorf("%+v, want all staged", got)
				}
			}
		})
	}
}

func certificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Two devices of this package work without the profile, except for its functions.
func TestDevicesWorkWithoutTheProfile(t *testing.T) {
	a, b := tcpPair(t)
	cfg := rawConfig()
	cfg.Raw.MaxSend = 3 << 20
	c, s := over(t, cfg, a, b)
	_, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.SendWithInvalidate}})
	if !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("send with invalidate: %v, want %v", err, verbs.ErrNotSupported)
	}
	_, err = c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, SGL: bytesOf(c, 4)}})
	if !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("4 MiB: %v, want %v", err, verbs.ErrTooLarge)
	}
	exchange(t, c, s)
	d := open(t, rawConfig())
	defer d.Close()
	if at := d.Attributes(); at.MaxPrivateData != 0 || at.RemoteInvalidate {
		t.Errorf("attributes %+v", at)
	}
}

// bytesOf returns elements for a number of MiB, all of the same MiB.
func bytesOf(s *victim, mib int) (sgl []verbs.SGE) {
	for range mib {
		sgl = append(sgl, verbs.SGE{MR: s.mr, Length: 1 << 20})
	}
	return sgl
}

// Words of the profile, correct ones and wrong ones.
func TestProfileWords(t *testing.T) {
	words := func(w ...uint32) (b []byte) {
		for _, v := range w {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return b
	}
	type outcome struct {
		status verbs.Status
		inval  bool
		err    error
		report uint32 // the reason reported to the peer
	}
	for _, tc := range []struct {
		name    string
		res     uint8
		control func(key uint32) []byte
		want    outcome
	}{
		{"plain", 0, func(uint32) []byte { return nil }, outcome{}},
		{"unknown bits", 0x6, func(uint32) []byte { return nil }, outcome{}},
		{"control data of no meaning", 0, func(uint32) []byte { return words(1, 2, 3, 4, 5) }, outcome{}},
		{"invalidate", 0x8, func(key uint32) []byte { return words(1, key) }, outcome{inval: true}},
		{"invalidate and more", 0x9, func(key uint32) []byte { return words(1, key, 7, 8) }, outcome{inval: true}},
		{"no words", 0x8, func(uint32) []byte { return nil }, outcome{verbs.StatusFlushed, false, verbs.ErrConnectionBroken, 2}},
		{"one word", 0x8, func(uint32) []byte { return words(1) }, outcome{verbs.StatusFlushed, false, verbs.ErrConnectionBroken, 2}},
		{"unknown word", 0x8, func(key uint32) []byte { return words(2, key) }, outcome{verbs.StatusFlushed, false, verbs.ErrConnectionBroken, 2}},
		{"other key", 0x8, func(key uint32) []byte { return words(1, key+1) }, outcome{verbs.StatusFlushed, false, verbs.ErrConnectionBroken, 3}},
		{"goodbye", 0xf, func(uint32) []byte { return words(1, 0, 0) }, outcome{verbs.StatusFlushed, false, verbs.ErrPeerDisconnected, 0}},
		{"report of access", 0xf, func(uint32) []byte { return words(3, 5, 6) }, outcome{verbs.StatusFlushed, false, verbs.StatusError{Status: verbs.StatusRemoteAccess}, 0}},
		{"report of length", 0xf, func(uint32) []byte { return words(4, 5, 6) }, outcome{verbs.StatusFlushed, false, verbs.StatusError{Status: verbs.StatusRemoteInvalidRequest}, 0}},
		{"report of no Receive", 0xf, func(uint32) []byte { return words(5, 5, 6) }, outcome{verbs.StatusFlushed, false, verbs.StatusError{Status: verbs.StatusRNRRetryExceeded}, 0}},
		{"report of slowness", 0xf, func(uint32) []byte { return words(8, 0, 0) }, outcome{verbs.StatusFlushed, false, verbs.StatusError{Status: verbs.StatusRetryExceeded}, 0}},
		{"unknown report", 0xf, func(uint32) []byte { return words(99, 5, 6) }, outcome{verbs.StatusFlushed, false, verbs.StatusError{Status: verbs.StatusRemoteOperation}, 0}},
		{"short report", 0xf, func(uint32) []byte { return words(1) }, outcome{verbs.StatusFlushed, false, verbs.ErrConnectionBroken, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, v := attack(t, device(t, nil), false)
			v.recv(t, 8, 1)
			key := v.mr.RKey()
			p.put(segment.Header{Res: tc.res}, tc.control(key), nil)
			if tc.want.err != nil {
				v.fails(tc.want.err)
			}
			wc := v.next()
			if wc.Status != tc.want.status || (wc.InvalidatedRKey == key) != tc.want.inval || (v.mr.State() == verbs.MRInvalid) != tc.want.inval {
				t.Errorf("completion %+v, region %v: %v", wc, v.mr.State(), v.qp.Err())
			}
			if tc.want.report != 0 {
				if h, control, _ := p.get(); h.Res != 0xf || len(control) != 12 || binary.BigEndian.Uint32(control) != tc.want.report {
					t.Errorf("answer %+v with %x, want a report of reason %d", h, control, tc.want.report)
				}
				p.ended()
			}
		})
	}
}

// A report has no payload. One with payload is refused, and uses no Receive.
func TestReportWithPayload(t *testing.T) {
	p, v := attack(t, device(t, nil), false)
	v.recv(t, 8, 1)
	p.put(segment.Header{Res: 0xf}, []byte{0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 6}, []byte("more"))
	v.fails(verbs.ErrConnectionBroken)
	if wc := v.next(); wc.Status != verbs.StatusFlushed || wc.ByteLen != 0 {
		t.Errorf("completion %+v", wc)
	}
	if h, control, _ := p.get(); h.Res != 0xf || len(control) != 12 || binary.BigEndian.Uint32(control) != 2 {
		t.Errorf("answer %+v with %x, want a report of reason 2", h, control)
	}
}

// A report of the peer completes the request that it names, unless that has completed.
func TestReportNamesRead(t *testing.T) {
	p, v := attack(t, device(t, nil), false)
	read := verbs.SendWR{Opcode: verbs.RDMARead, SGL: v.sge(10), RKey: 1}
	first, second := read, read
	first.WRID, second.WRID = 1, 2
	v.send(t, []verbs.SendWR{first, second})
	p.get()
	h, _, _ := p.get()
	p.put(segment.Header{Res: 0xf}, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 3}, h.Number), 1), nil)
	if a, b := v.next(), v.next(); a.WRID != 1 || a.Status != verbs.StatusFlushed || b.WRID != 2 || b.Status != verbs.StatusRemoteAccess {
		t.Errorf("completions %+v, %+v", a, b)
	}
}

// Removing a device breaks its connections at both ends.
func TestRemovedDeviceEndsItsConnections(t *testing.T) {
	c, s := newPair(t, nil)
	ln, err := s.dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	s.dev.Remove()
	(&victim{s, t}).fails(verbs.ErrDeviceRemoved)
	(&victim{c, t}).fails(verbs.ErrPeerDisconnected)
	if _, err := ln.Accept(context.Background()); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
	if _, err := s.dev.AllocPD(); !errors.Is(err, verbs.ErrDeviceRemoved) {
		t.Errorf("alloc: %v", err)
	}
	if _, err := s.dev.Listen(context.Background(), local); !errors.Is(err, verbs.ErrDeviceRemoved) {
		t.Errorf("listen: %v", err)
	}
	if _, err := s.pd.RegisterMemory(make([]byte, 1), 0); !errors.Is(err, verbs.ErrDeviceRemoved) {
		t.Errorf("register: %v", err)
	}
}

func TestOpenChecksTheLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		limits verbs.DeviceAttributes
		want   error
	}{
		"above":        {verbs.DeviceAttributes{MaxCQE: 1 << 20}, verbs.ErrInvalidValue},
		"no queue":     {verbs.DeviceAttributes{MaxSendWR: -1}, verbs.ErrInvalidValue},
		"none allowed": {verbs.DeviceAttributes{MaxInitiatorDepth: -1, MaxPrivateData: -1}, nil},
		"lower":        {verbs.DeviceAttributes{MaxSendWR: 7, MaxMessageSize: 100, MaxMRSize: 200}, nil},
		"deeper":       {verbs.DeviceAttributes{MaxResponderResources: 128}, nil},
	} {
		d, err := rdmatcp.Open(&rdmatcp.Config{Limits: &tc.limits})
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if err == nil && name == "deeper" && d.Attributes().MaxResponderResources != 128 {
			t.Errorf("%s: %+v", name, d.Attributes())
		}
	}
	broken := errors.New("no entropy")
	if _, err := rdmatcp.Open(&rdmatcp.Config{Rand: iotest.ErrReader(broken)}); !errors.Is(err, broken) {
		t.Errorf("Rand fails: %v", err)
	}
}

// A message or an RDMA operation does not allocate.
func TestMessageDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	c, s := newPair(t, nil)
	recv := []verbs.RecvWR{{SGL: s.sge(128)}}
	for name, wr := range map[string]verbs.SendWR{
		"send 128":  {Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: c.sge(128)},
		"write 64K": {Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled, SGL: c.sge(64 << 10), RKey: s.mr.RKey()},
		"read 64K":  {Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: c.sge(64 << 10), RKey: s.mr.RKey()},
	} {
		wrs := []verbs.SendWR{wr}
		n := 1.
		// On a busy machine the sender may have to wait for the peer, which allocates.
		for try := 0; try < 5 && n >= 1; try++ {
			n = testing.AllocsPerRun(200, func() {
				if wr.Opcode == verbs.Send {
					s.qp.PostRecv(recv)
				}
				c.send(t, wrs)
				c.wait(t, 1)
				if wr.Opcode == verbs.Send {
					s.wait(t, 1)
				}
			})
		}
		if n >= 1 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
