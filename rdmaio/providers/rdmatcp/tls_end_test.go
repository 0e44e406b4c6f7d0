package rdmatcp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// relay passes a connection on to a server. cut ends both TCP connections, and passes on nothing of
// what the two ends then send.
func relay(t testing.TB, server string) (addr string, cut func()) {
	t.Helper()
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	var halves [2]net.Conn
	var copying sync.WaitGroup
	made := make(chan struct{})
	go func() {
		defer close(made)
		if halves[0], err = ln.Accept(); err != nil {
			return
		}
		if halves[1], err = net.Dial("tcp", server); err != nil {
			halves[0].Close()
			return
		}
		copying.Go(func() { io.Copy(halves[0], halves[1]) })
		copying.Go(func() { io.Copy(halves[1], halves[0]) })
	}()
	return ln.Addr().String(), func() {
		<-made
		if err != nil {
			t.Fatal(err)
		}
		for _, half := range halves {
			half.SetReadDeadline(time.Unix(1, 0))
		}
		copying.Wait()
		for _, half := range halves {
			half.(*net.TCPConn).CloseWrite()
		}
	}
}

// An attacker on the path that closes the TCP connection between two records cannot make that look
// like the end of the stream, with or without the reports of the profile. The same end from the
// peer itself is orderly, because TLS announces it.
func TestTLSTruncation(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	for name, raw := range map[string]*rdmatcp.RawConfig{"profile": nil, "raw": {}} {
		t.Run(name, func(t *testing.T) {
			cfg := &rdmatcp.Config{TLS: config, Raw: raw}
			client, server := device(t, cfg), device(t, cfg)
			ln, err := server.Listen(context.Background(), local)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			exchangeDialed := func(d dialed) {
				d.must(t)
				exchange(t, d.client, d.server) // ends with ErrPeerDisconnected at the server
			}
			exchangeDialed(connectTo(t, client, server, ln, ln.Addr()))

			addr, cut := relay(t, ln.Addr())
			d := connectTo(t, client, server, ln, addr).must(t)
			// A raw server sends nothing before it knows the client.
			d.client.qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite}})
			cut()
			for _, v := range []*victim{d.client, d.server} {
				v.fails(verbs.ErrConnectionBroken, io.ErrUnexpectedEOF)
			}
			if got := client.Stats().Broken + server.Stats().Broken; got != 2 {
				t.Errorf("%d broken connections, want 2", got)
			}
		})
	}
}

// tlsAttack connects a scripted client over TLS.
func tlsAttack(t testing.TB, cfg *rdmatcp.Config, config *tls.Config) (*tls.Conn, net.Conn, *victim) {
	t.Helper()
	dev := device(t, cfg)
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	config = config.Clone()
	config.ServerName, config.NextProtos = "server.example", []string{rdmatcp.ALPN}
	sock := dialRaw(t, ln.Addr())
	conn := tls.Client(sock, config)
	p := &peer{t: t, conn: conn, id: 1}
	p.hello(hello(16, 16, nil))
	v := &victim{newSide(t, dev), t}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := ln.Accept(ctx)
	if err == nil {
		_, err = req.Accept(ctx, v.qp, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.get()
	return conn, sock, v
}

// After the handshake, records that do not belong to the session break the connection, and so does
// a part of one that is not continued. A request for renegotiation does, too (TLS 1.2).
func TestTLSRecords(t *testing.T) {
	a := tlstest.NewAuthority(t)
	record := func(kind byte, n int, body []byte) []byte {
		return append([]byte{kind, 3, 3, byte(n >> 8), byte(n)}, body...)
	}
	for _, tt := range []struct {
		name    string
		version uint16
		b       []byte
		close   bool
	}{
		{"no MAC", tls.VersionTLS13, record(23, 100, make([]byte, 100)), false},
		{"longer than any", tls.VersionTLS13, record(23, 1<<14+257, nil), false},
		{"in the clear", tls.VersionTLS13, record(21, 2, []byte{1, 0}), false},
		{"a part", tls.VersionTLS13, record(23, 1<<14, make([]byte, 1000)), true},
		{"hello", tls.VersionTLS12, clientHello(t), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := a.Config()
			config.MinVersion, config.MaxVersion = tt.version, tt.version
			_, sock, v := tlsAttack(t, &rdmatcp.Config{TLS: config}, config)
			if _, err := sock.Write(tt.b); err != nil {
				t.Fatal(err)
			}
			if tt.close {
				sock.(*net.TCPConn).CloseWrite()
			}
			v.fails(verbs.ErrConnectionBroken)
			if err := awaitEnd(sock); err != nil {
				t.Error(err)
			}
		})
	}
}

// A peer that does not read cannot make the end of a connection, or of a device, wait for it.
func TestTLSNeverReads(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	_, _, v := tlsAttack(t, &rdmatcp.Config{TLS: config, SendTimeout: time.Hour}, config)
	for range 16 { // more than the socket takes
		if _, err := v.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, SGL: v.sge(sideBytes)}}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- v.qp.Disconnect() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Disconnect waits for the peer")
	}
	v.fails(verbs.ErrDisconnected)
	if !errors.Is(v.qp.Err(), verbs.ErrDisconnected) {
		t.Error(v.qp.Err())
	}
}

// A program that closes its connections and its device closes them in order: Device.Close lets them
// send their last bytes.
func TestTLSExit(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	for name, raw := range map[string]*rdmatcp.RawConfig{"profile": nil, "raw": {}} {
		t.Run(name, func(t *testing.T) {
			cfg := &rdmatcp.Config{TLS: config, Raw: raw}
			server := device(t, cfg)
			for range 20 {
				client := open(t, cfg)
				pd, err := client.AllocPD()
				if err != nil {
					t.Fatal(err)
				}
				cq, err := client.CreateCQ(16, nil)
				if err != nil {
					t.Fatal(err)
				}
				qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
				if err != nil {
					t.Fatal(err)
				}
				v := &victim{newSide(t, server), t}
				join(t, client, qp, v)
				for _, f := range []func() error{qp.Close, cq.Close, pd.Close, client.Close} {
					if err := f(); err != nil {
						t.Fatal(err)
					}
				}
				v.fails(verbs.ErrPeerDisconnected)
			}
			if got := server.Stats(); got.Broken != 0 || got.Connections != 20 {
				t.Errorf("%+v, want 20 connections that ended in order", got)
			}
		})
	}
}

// join connects a queue pair to a victim.
func join(t testing.TB, client *rdmatcp.Device, qp verbs.QueuePair, v *victim) {
	t.Helper()
	ln, err := v.dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, v.qp, nil)
		}
		done <- err
	}()
	if _, err := client.Dial(ctx, ln.Addr(), qp, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
