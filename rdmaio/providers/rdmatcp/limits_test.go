package rdmatcp_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A peer that begins a segment or message and does not continue loses its connection.
func TestStalledPeerIsLost(t *testing.T) {
	const short, long = 30 * time.Millisecond, time.Hour
	for _, tc := range []struct {
		name             string
		segment, message time.Duration
		script           func(p *peer, v *victim)
	}{
		{"inside a header", short, long, func(p *peer, v *victim) { p.write(p.whole(segment.Header{}, nil, nil)[:3]) }},
		{"inside a short segment", short, long, func(p *peer, v *victim) { p.write(p.whole(segment.Header{}, nil, make([]byte, 100))[:90]) }},
		{"inside a long segment", short, long, func(p *peer, v *victim) { p.write(p.whole(segment.Header{}, nil, make([]byte, 9000))[:8000]) }},
		{"a byte now and then", short, long, func(p *peer, v *victim) {
			for _, b := range p.whole(segment.Header{}, nil, make([]byte, 100)) {
				p.write([]byte{b})
				time.Sleep(short / 20)
			}
		}},
		{"inside a Send", long, short, func(p *peer, v *victim) { p.write(p.part(header(segment.Send, b_, p.next()), nil, []byte("x"))) }},
		{"inside a Write", long, short, func(p *peer, v *victim) {
			h := header(segment.Write, b_, p.next())
			h.BufferID, h.RDMALength = v.mr.RKey(), 10
			p.write(p.part(h, nil, []byte("x")))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := rawConfig()
			cfg.SegmentTimeout, cfg.MessageTimeout = tc.segment, tc.message
			p, v := attack(t, device(t, cfg), true)
			v.recv(t, 16<<10, 1)
			tc.script(p, v)
			v.fails(verbs.ErrConnectionBroken, verbs.StatusError{Status: verbs.StatusRetryExceeded})
			p.ended()
		})
	}
}

// An idle connection is not ended. A busy machine may take longer for a message than a limit
// allows, so a failure only counts if it also occurs with longer limits.
func TestIdleConnectionStays(t *testing.T) {
	for limit := 200 * time.Millisecond; ; limit *= 4 {
		err := idle(t, limit)
		if err == nil {
			return
		}
		if limit > 3*time.Second {
			t.Fatal(err)
		}
		t.Logf("with %v allowed: %v", limit, err)
	}
}

// idle sends messages in both directions, with pauses longer than any limit.
func idle(t *testing.T, limit time.Duration) error {
	cfg := rawConfig()
	cfg.SegmentTimeout, cfg.MessageTimeout, cfg.SendTimeout = limit, limit, limit
	p, v := attack(t, device(t, cfg), true)
	for range 3 {
		v.recv(t, 16<<10, 1)
		b := p.whole(segment.Header{}, nil, make([]byte, 9000))
		p.write(b[:100])
		time.Sleep(2 * time.Millisecond)
		p.write(b[100:])
		if wc := v.next(); wc.Err() != nil {
			return fmt.Errorf("%w: %w", wc.Err(), v.qp.Err())
		}
		if _, err := v.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: v.sge(9000)}}); err != nil {
			return err
		}
		if wc := v.next(); wc.Err() != nil {
			return fmt.Errorf("%w: %w", wc.Err(), v.qp.Err())
		}
		p.get()
		time.Sleep(limit + limit/4)
	}
	return v.qp.Err()
}

// A20: a peer that reads neither our messages nor the responses to its Reads.
func TestNeverReads(t *testing.T) {
	for name, script := range map[string]func(p *peer, v *victim){
		"answers": func(p *peer, v *victim) {
			for range 16 {
				p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)
			}
		},
		"messages": func(p *peer, v *victim) {
			p.put(segment.Header{Type: segment.Write}, nil, nil)
			for range 16 {
				v.send(v.t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: v.sge(sideBytes)}})
			}
		},
		"small messages": func(p *peer, v *victim) {
			p.put(segment.Header{Type: segment.Write}, nil, nil)
			wr := []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: v.sge(4000)}}
			for done := false; !done; {
				for range 64 {
					if _, err := v.qp.PostSend(wr); errors.Is(err, verbs.ErrInvalidState) {
						done = true
					}
				}
				v.cq.Poll(v.wcs[:])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := rawConfig()
			cfg.SendTimeout = 50 * time.Millisecond
			p, v := attack(t, device(t, cfg), true)
			script(p, v)
			v.fails(verbs.ErrConnectionBroken, verbs.StatusError{Status: verbs.StatusRetryExceeded})
		})
	}
}

// A5, R290: Invalidate does not wait for a peer that has stopped inside a segment, in either
// direction. The bytes belong to the caller when it returns.
func TestInvalidateDoesNotWait(t *testing.T) {
	t.Run("half a Write", func(t *testing.T) {
		p, v := attack(t, device(t, rawConfig()), true)
		v.poison()
		b := p.whole(segment.Header{Type: segment.Write, BufferID: v.mr.RKey()}, nil, make([]byte, 60_000))
		p.write(b[:30_000])
		time.Sleep(20 * time.Millisecond)
		quick(t, v.mr.Invalidate)
		v.fails(verbs.ErrConnectionBroken)
		v.poison()
		p.write(b[30_000:])
		p.ended()
		if !v.poisoned() {
			t.Error("bytes were placed after Invalidate")
		}
	})
	t.Run("half a Write to another region", func(t *testing.T) {
		p, v := attack(t, device(t, rawConfig()), true)
		other, err := v.pd.RegisterMemory(v.mr.Bytes()[:10], v.mr.Access())
		if err != nil {
			t.Fatal(err)
		}
		b := p.whole(segment.Header{Type: segment.Write, BufferID: v.mr.RKey()}, nil, make([]byte, 60_000))
		p.write(b[:30_000])
		time.Sleep(20 * time.Millisecond)
		quick(t, other.Deregister)
		v.recv(t, 10, 1)
		p.write(b[30_000:])
		p.put(segment.Header{}, nil, nil)
		if wc := v.next(); wc.Err() != nil {
			t.Errorf("%v: %v", wc.Err(), v.qp.Err())
		}
	})
	t.Run("half an answer", func(t *testing.T) {
		p, v := attack(t, device(t, rawConfig()), true)
		for range 16 {
			p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)
		}
		time.Sleep(50 * time.Millisecond) // the socket is full
		quick(t, v.mr.Invalidate)
		v.poison()
		if rest := p.ended(); bytes.Contains(rest, bytes.Repeat([]byte{0xa5}, 8)) {
			t.Error("bytes were read after Invalidate")
		}
		v.fails(verbs.ErrConnectionBroken)
	})
	t.Run("own message, local", func(t *testing.T) {
		p, v := attack(t, device(t, rawConfig()), true)
		p.put(segment.Header{Type: segment.Write}, nil, nil)
		mr, err := v.pd.RegisterMemory(make([]byte, 64<<10), 0)
		if err != nil {
			t.Fatal(err)
		}
		wr := []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: mr, Length: 64 << 10}}}}
		for range 200 {
			v.send(t, wr)
		}
		time.Sleep(50 * time.Millisecond)
		quick(t, mr.Deregister)
		got := 0
		for p.conn.SetReadDeadline(time.Now().Add(patience)); ; got++ {
			if _, err := io.CopyN(io.Discard, p.conn, 64<<10); err != nil {
				break
			}
		}
		v.fails(verbs.ErrConnectionBroken)
		if got == 0 {
			t.Error("nothing was sent")
		}
	})
	t.Run("disconnect", func(t *testing.T) {
		p, v := attack(t, device(t, rawConfig()), true)
		for range 16 {
			p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)
		}
		b := p.whole(segment.Header{Type: segment.Write, BufferID: v.mr.RKey()}, nil, make([]byte, 60_000))
		p.write(b[:30_000])
		time.Sleep(50 * time.Millisecond)
		quick(t, v.qp.Disconnect)
		v.poison()
		p.write(b[30_000:])
		if !v.poisoned() {
			t.Error("bytes were placed after Disconnect")
		}
	})
}

// quick checks that a call returns without error, and without waiting for the peer: that would take
// at least twice as long, SegmentTimeout. A busy machine can take a second or two.
func quick(t *testing.T, f func() error) {
	t.Helper()
	start := time.Now()
	if err := f(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("took %v", took)
	}
}

// A14: a connection that sends nothing, too little or invalid bytes is closed after
// HandshakeTimeout at the latest, and does not delay others.
func TestHandshakeLimits(t *testing.T) {
	dev := device(t, &rdmatcp.Config{HandshakeTimeout: 200 * time.Millisecond, MaxHandshakes: 20})
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	good := (&peer{t: t, id: 7}).whole(segment.Header{Type: segment.Write}, hello(1, 1, nil), nil)
	bad := map[string][]byte{
		"nothing":           nil,
		"half":              good[:30],
		"http":              []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"no profile":        (&peer{t: t}).whole(segment.Header{Type: segment.Write}, nil, nil),
		"a Send":            (&peer{t: t}).whole(segment.Header{}, hello(1, 1, nil), nil),
		"a buffer ID":       (&peer{t: t}).whole(segment.Header{Type: segment.Write, BufferID: 1}, hello(1, 1, nil), nil),
		"payload":           (&peer{t: t}).whole(segment.Header{Type: segment.Write}, hello(1, 1, nil), []byte("x")),
		"magic":             (&peer{t: t}).whole(segment.Header{Type: segment.Write}, make([]byte, 16), nil),
		"version":           (&peer{t: t}).whole(segment.Header{Type: segment.Write}, append([]byte("rpd1\x02"), make([]byte, 11)...), nil),
		"private data":      (&peer{t: t}).whole(segment.Header{Type: segment.Write}, append([]byte("rpd1\x01\x00\x00\x05"), make([]byte, 12)...), nil),
		"long private data": (&peer{t: t}).whole(segment.Header{Type: segment.Write}, append([]byte("rpd1\x01\x00\x03\xe9"), make([]byte, 1012)...), nil),
		"long":              (&peer{t: t}).whole(segment.Header{Type: segment.Write}, hello(1, 1, nil), make([]byte, 3000)),
		"CRC":               append(append([]byte(nil), good[:len(good)-1]...), good[len(good)-1]^1),
	}
	tried := int64(0) // -run may skip some
	for name, b := range bad {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", ln.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			tried++
			p := &peer{t: t, conn: conn}
			p.write(b)
			if rest := p.ended(); len(rest) > 0 {
				t.Errorf("%d bytes came back", len(rest))
			}
		})
	}
	if n := turnedAway(dev, tried); n != tried {
		t.Errorf("%d refused, want %d", n, tried)
	}
	var silent []net.Conn
	for range 40 { // twice as many as may be in the handshake
		conn, err := net.Dial("tcp", ln.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	for _, conn := range silent {
		(&peer{t: t, conn: conn}).ended()
	}
	// A busy machine may be too slow even for a hello that arrives at once.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", ln.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.Write(good)
		soon, cancel := context.WithTimeout(ctx, patience/5)
		req, err := ln.Accept(soon)
		cancel()
		if err == nil {
			if err := req.Reject(nil); err != nil {
				t.Error(err)
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// A client that sends a correct hello and resets the connection before the answer costs a queue
// pair. It is counted and logged.
func TestGivenUpHandshake(t *testing.T) {
	var log bytes.Buffer
	dev := device(t, &rdmatcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr())
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: conn, id: 7}
	p.hello(hello(1, 1, nil))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := ln.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn.(*net.TCPConn).SetLinger(0) // reset
	conn.Close()
	time.Sleep(20 * time.Millisecond) // until the reset has arrived
	if _, err := req.Accept(ctx, newSide(t, dev).qp, nil); !errors.Is(err, verbs.ErrPeerDisconnected) {
		t.Fatalf("accept: %v", err)
	}
	if s := dev.Stats(); s.RefusedHandshake != 1 || s.Refused != 1 || s.Connections != 0 {
		t.Errorf("counted as %+v", s)
	}
	if got := log.String(); !strings.Contains(got, "connection refused") || !strings.Contains(got, "peer="+conn.LocalAddr().String()) {
		t.Errorf("log: %q", got)
	}
}

// The error for a client that goes before its first message is complete says how much of it came.
func TestGoneBeforeHello(t *testing.T) {
	dev := device(t, nil)
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client.Write([]byte{1, 12, 0})
	client.Close()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, err = dev.AcceptConn(context.Background(), conn)
	const want = "disconnected by the peer: after 3 bytes of the peer's first message: EOF"
	if !errors.Is(err, verbs.ErrPeerDisconnected) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("accept: %v, want %s", err, want)
	}
}

// The error quotes the first bytes of a peer that speaks another protocol, and names it if it is a
// known one, instead of a rule about the segment's format.
func TestDialSomethingElse(t *testing.T) {
	for _, tt := range []struct {
		banner string
		is     error
		want   string // after the first bytes
	}{
		{"HTTP/1.1 400 Bad Request\r\n\r\n", segment.BadVersion, "and this side speaks rdmatcp: check the port: segment: found 0x48, want 0x1"},
		{"SSH-2.0-x\r\n", verbs.ErrOtherProtocol, "and this side speaks rdmatcp: check the port"},
		{"\x01\x0d", verbs.ErrPeerDisconnected, ""},
		{"\x02\x0d\x00\x20", segment.BadVersion, "check the port"},
		{"MPA ID Rep Frame", verbs.ErrOtherProtocol, "as of iwarp (RFC 5044 §7.1), and this side speaks rdmatcp: use the same provider at both ends"},
		{"MPA ", verbs.ErrOtherProtocol, "as of iwarp"},
		{"\x80\x00\x00\x18\xca\xfe\x00\x01\x00\x00\x00\x01", verbs.ErrOtherProtocol, "as of ONC RPC over TCP (RFC 5531 §11), and this side speaks rdmatcp: use RDMA"},
		{"\x80\x00\x00\x28\xca\xfe\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02", verbs.ErrOtherProtocol, "as of ONC RPC over TCP"},
		{"\x80\x00\x00\x28\xca\xfe\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03", segment.BadVersion, "check the port"},
		{"\x80\x00\x00\x28\xca\xfe\x00\x01\x00\x00\x00\x00\x00\x00\x00", segment.BadVersion, "check the port"},
		{"\x80\x00\x00\x18\xca\xfe\x00\x01\x00\x00\x00", segment.BadVersion, "check the port"},
		{"\x80\x00\x00\x18\xca\xfe\x00\x01\x00\x00\x00\x02", segment.BadVersion, "check the port"},
		{"\x00\x00\x00\x18\xca\xfe\x00\x01\x00\x00\x00\x01", segment.BadVersion, "check the port"},
		{"\x15\x03\x01\x00\x02\x02\x46", verbs.ErrTLS, "a TLS record (RFC 8446 §5.1): set Config.TLS here, or unset it there"},
	} {
		ln, err := net.Listen("tcp", local)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			conn.Read(make([]byte, 100))
			conn.Write([]byte(tt.banner))
		}()
		dev := device(t, nil)
		_, err = dev.Dial(context.Background(), ln.Addr().String(), newSide(t, dev).qp, nil)
		if err == nil {
			t.Fatalf("connected to %q", tt.banner)
		}
		text := err.Error()
		quotes := strings.Count(text, "its first bytes are "+fmt.Sprintf("%q", tt.banner[:min(len(tt.banner), 16)]))
		if !errors.Is(err, tt.is) || !strings.Contains(text, tt.want) || quotes != min(1, len(tt.want)) || strings.Count(text, "segment:") > 1 {
			t.Errorf("%q: %v, want %v, the first bytes once, and %q", tt.banner, err, tt.is, tt.want)
		}
		// A server that closes after some bytes of ours has another reason than its protocol.
		if tt.want == "" && strings.Contains(text, "this side speaks") {
			t.Errorf("%q: %v, want nothing about the protocol", tt.banner, err)
		}
		if errors.Is(err, verbs.ErrTLS) && (strings.Contains(text, "segment") || errors.Is(err, verbs.ErrOtherProtocol)) {
			t.Errorf("%q: %v, want TLS alone", tt.banner, err)
		}
	}
}

// turnedAway waits until a device has refused n connections, and returns the count.
func turnedAway(dev *rdmatcp.Device, n int64) (got int64) {
	for limit := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if got = dev.Stats().Refused; got >= n || time.Now().After(limit) {
			return got
		}
	}
}

// A13: a device has at most MaxConnections connections.
func TestMaxConnections(t *testing.T) {
	cfg := rawConfig()
	cfg.MaxConnections = 2
	dev := device(t, cfg)
	attack(t, dev, true)
	attack(t, dev, true)
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	(&peer{t: t, conn: conn}).ended()
}

// Both ends Write and Read at once, more than their windows, with short messages in between. Each
// byte is used once.
func TestBothFull(t *testing.T) {
	c, s := newPair(t, nil)
	limit := time.AfterFunc(30*time.Second, func() { panic("deadlock") })
	defer limit.Stop()
	const (
		rounds = 60
		n      = 300 << 10
		source = 0
		sink   = n // target of our Reads
		target = 2 * n
		out    = 3 * n // source of short messages
		in     = 3*n + 1000
	)
	var wg sync.WaitGroup
	for _, e := range []struct{ own, peer *side }{{c, s}, {s, c}} {
		own, peer := e.own, e.peer
		part := func(at, n int) []verbs.SGE { return []verbs.SGE{{MR: own.mr, Offset: at, Length: n}} }
		for range rounds {
			if _, err := own.qp.PostRecv([]verbs.RecvWR{{SGL: part(in, 100)}}); err != nil {
				t.Fatal(err)
			}
		}
		wg.Go(func() {
			for range rounds {
				own.send(t, []verbs.SendWR{
					{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled, SGL: part(source, n), RKey: peer.mr.RKey(), RemoteAddr: target},
					{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: part(sink, n), RKey: peer.mr.RKey(), RemoteAddr: source},
					{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: part(out, 100)},
				})
			}
			own.wait(t, 4*rounds)
		})
	}
	wg.Wait()
}

// AcceptConn returns when its context is done, before or while it waits for the hello, and not only
// after HandshakeTimeout.
func TestAcceptConnGivesUp(t *testing.T) {
	dev := device(t, &rdmatcp.Config{HandshakeTimeout: time.Hour, Rand: slowReader{rand.Reader}})
	for range 10 { // slowReader gives the cancel time to come before the first deadline
		a, b := tcpPair(t)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := dev.AcceptConn(ctx, b)
			done <- err
		}()
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("it waits for the hello")
		}
		a.Close()
	}
}

// slowReader delays each read.
type slowReader struct{ io.Reader }

func (r slowReader) Read(b []byte) (int, error) {
	time.Sleep(2 * time.Millisecond)
	return r.Reader.Read(b)
}
