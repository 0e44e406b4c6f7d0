package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// securedNotes serves a board over TCP with TLS (RFC 9289) until the test ends.
func securedNotes(t *testing.T, a *tlstest.Authority, mode tcp.TLSMode) (addr string) {
	t.Helper()
	h := rpc.NewHandler(nil, notesrpc.NewService(&board{texts: map[string][]byte{}}))
	s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, &tcp.Config{TLS: tcp.TLS{Mode: mode, Config: a.Config()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}

// withoutALPN is securedNotes for a server that names no application protocol, as tlshd.
func withoutALPN(t *testing.T, a *tlstest.Authority) (addr string) {
	h := rpc.NewHandler(nil, notesrpc.NewService(&board{texts: map[string][]byte{}}))
	l := listener(t, func(c net.Conn) {
		call := make([]byte, 44) // the probe and its mark
		if _, err := io.ReadFull(c, call); err != nil {
			return
		}
		offer := oncrpc.NewReply(binary.BigEndian.Uint32(call[4:]), oncrpc.Success)
		offer.Body.Reply.Accepted.Verf.Body = []byte("STARTTLS")
		reply := encoded(offer)
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(reply))), reply...)); err != nil {
			return
		}
		secure := tls.Server(c, a.Config())
		if err := secure.Handshake(); err != nil {
			return
		}
		conn := tcp.ServeConn(secure, h, nil)
		<-conn.Done()
		_ = conn.Close()
	})
	return l.Addr().String()
}

// -tls over TCP begins with the probe of RFC 9289 §4.1: required fails without TLS at the server,
// wanted continues and says so, and certificates are checked.
func TestCallTLS(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(nil)
	_, plain, _ := servingNotes(t)
	secure := securedNotes(t, a, tcp.TLSRequired)
	otherCA, _, _ := tlstest.NewAuthority(t).Write(nil)
	silent := withoutALPN(t, a)
	_, port, err := net.SplitHostPort(secure)
	if err != nil {
		t.Fatal(err)
	}
	mine := " -ca " + ca + " -cert " + cert + " -key " + key + " "
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"-tls required" + mine + secure, exitDone, ""},
		{"-tls wanted" + mine + secure, exitDone, ""},
		{"-tls required -tls-name server.example" + mine + "localhost:" + port, exitDone, ""},
		{"-tls required" + mine + plain, exitPeer, "-tls wanted or off"},
		{"-tls wanted" + mine + plain, exitDone, "offers no TLS: the calls are in plaintext"},
		{secure, exitPeer, "try: -tls required, if the connection has no TLS; another -cred"}, // AUTH_TOOWEAK
		{"-tls required -ca " + ca + " " + secure, exitFailed, "try: -cert and -key with a certificate"},
		{"-carrier rdma " + plain, exitFailed, "; -carrier tcp, if it is"},
		{"-tls required -insecure -cert " + cert + " -key " + key + " " + secure, exitDone, ""},
		{"-tls required -ca " + otherCA + " " + secure, exitFailed, "try: -ca FILE with the authority"},
		{"-tls required -tls-name other.example" + mine + secure, exitFailed, "other.example"},
		{"-tls required -ca missing.pem " + secure, exitFailed, "missing.pem"},
		{"-tls required" + mine + silent, exitFailed, "-no-alpn"},
		{"-tls required -no-alpn" + mine + silent, exitDone, ""},
		{"-no-alpn " + secure, exitUsage, "-no-alpn has no effect"},
		{"-tls required -carrier rdma" + mine + secure, exitFailed, ""},
	} {
		args := strings.Fields(tt.args)
		last := args[len(args)-1]
		args = append(args[:len(args)-1], notesFile, last, "NOTES.NOTES_V1.NOTES_LIST")
		code, _, errs := call("", args...)
		if code != tt.code || !strings.Contains(errs, tt.want) || tt.code == exitDone && tt.want == "" && errs != "" {
			t.Errorf("%s: exit %d, %s", tt.args, code, errs)
		}
	}
}
