package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// scriptedReply is a carrier whose server answers each Call with a header and results.
type scriptedReply struct {
	reply   func(xid uint32) *oncrpc.Header
	results []byte
}

func (a scriptedReply) XID() uint32 { return 0xbeef }

func (a scriptedReply) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	b, err := a.reply(call.XID()).AppendBinary(nil)
	call.Reply = oncrpc.Reply{Message: append(b, a.results...)}
	return &call.Reply, err
}

// secure is scriptedReply over a connection.
type secure struct {
	scriptedReply
	peer oncrpc.Peer
}

func (s secure) Peer() oncrpc.Peer { return s.peer }

// The error of a call that the server refuses for want of security names TLS first, unless the
// connection has it.
func TestTooWeakNamesTLSFirst(t *testing.T) {
	weak := scriptedReply{reply: func(xid uint32) *oncrpc.Header { return oncrpc.Refused(oncrpc.AuthStatTooWeak).Header(xid) }}
	sys, _ := new(oncrpc.AuthSysParms).Auth()
	for _, tt := range []struct {
		name    string
		carrier oncrpc.Carrier
		cred    oncrpc.OpaqueAuth
		want    string
	}{
		{"plaintext", secure{weak, oncrpc.Peer{}}, oncrpc.None(), "the connection has no TLS, which the server may require (Config.TLS); with TLS, ClientConfig.Cred is AUTH_NONE: set it, or use package gss"},
		{"plaintext, AUTH_SYS", secure{weak, oncrpc.Peer{}}, sys, "the connection has no TLS, which the server may require (Config.TLS); with TLS, use package gss"},
		{"TLS", secure{weak, oncrpc.Peer{TLS: new(oncrpc.TLSState)}}, oncrpc.None(), "AUTH_TOOWEAK (RFC 5531 §9): ClientConfig.Cred is AUTH_NONE: set it, or use package gss"},
		{"TLS, AUTH_SYS", secure{weak, oncrpc.Peer{TLS: new(oncrpc.TLSState)}}, sys, "AUTH_TOOWEAK (RFC 5531 §9): use package gss"},
		{"unknown", weak, oncrpc.None(), "the server may require TLS (Config.TLS of the connection); with TLS, ClientConfig.Cred is AUTH_NONE"},
	} {
		err := rpc.NewClient(tt.carrier, echoing, &rpc.ClientConfig{Cred: tt.cred}).Call(t.Context(), 1, nil, nil, nil)
		if !errors.Is(err, oncrpc.ErrAuth) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: found %v, want %q in it", tt.name, err, tt.want)
		}
	}
	other := scriptedReply{reply: func(xid uint32) *oncrpc.Header { return oncrpc.Refused(oncrpc.AuthStatBadCred).Header(xid) }}
	if err := rpc.NewClient(other, echoing, nil).Call(t.Context(), 1, nil, nil, nil); strings.Contains(fmt.Sprint(err), "TLS") {
		t.Error(err)
	}
}

var echoing = oncrpc.Program{Number: 400001, Version: 1}

// The error of a reply that cannot be decoded is one line, about the place where decoding stopped.
func TestResultsErrorIsOneLine(t *testing.T) {
	for want, results := range map[string][]byte{
		"0 bytes left":                  {0, 0, 0, 0, 0, 0, 1, 0},
		"4 bytes after the value, none": {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		c := scriptedReply{func(xid uint32) *oncrpc.Header { return oncrpc.NewReply(xid, oncrpc.Success) }, results}
		err := rpc.NewClient(c, echoing, nil).Call(t.Context(), 1, nil, new(oncrpc.OpaqueAuth), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("found %v, want one line with %q", err, want)
		}
	}
}

// The caller's error and the line in the server's log have the same XID, and a panic's line has its
// innermost functions alone.
func TestSystemErrorHasXID(t *testing.T) {
	var log bytes.Buffer
	svc := rpc.NewService(echoing)
	rpc.Handle(svc, 1, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { return errors.New("the disk is full") })
	rpc.Handle(svc, 2, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { panic("said so") })
	c := mem.New(rpc.NewHandler(nil, svc), &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var failures []error
	for proc := range uint32(2) {
		failures = append(failures, rpc.NewClient(c, echoing, nil).Call(t.Context(), proc+1, nil, nil, nil))
	}
	_ = c.Close()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("found\n%swant two lines", log.String())
	}
	for i, err := range failures {
		xid := regexp.MustCompile(`xid=(0x[0-9a-f]{8}) `).FindStringSubmatch(lines[i])
		if xid == nil || !errors.Is(err, oncrpc.ErrSystem) || !strings.Contains(err.Error(), ": call "+xid[1]+": ") {
			t.Errorf("the caller's error is %v, the log has %s", err, lines[i])
		}
	}
	if !strings.Contains(lines[1], `stack="rpc_test.TestSystemErrorHasXID.func2 explain_test.go:`) || len(lines[1]) > 1000 {
		t.Errorf("%d bytes: %s", len(lines[1]), lines[1])
	}
}
