package rping

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// device opens a device for the length of the test.
func device(t *testing.T) verbs.Device {
	t.Helper()
	dev, err := iwarp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// pair runs a server and a client of this package against each other, and returns their errors.
func pair(t *testing.T, server, client Config) (served, asked error) {
	t.Helper()
	near, far := device(t), device(t)
	ln, err := far.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server.Server = true
	server.Connect = func(qp verbs.QueuePair) error {
		req, err := ln.Accept(ctx)
		if err != nil {
			return err
		}
		_, err = req.Accept(ctx, qp, nil)
		return err
	}
	client.Connect = func(qp verbs.QueuePair) error {
		_, err := near.Dial(ctx, ln.Addr(), qp, nil)
		return err
	}
	done := make(chan error, 1)
	go func() { done <- Run(ctx, far, server) }()
	asked = Run(ctx, near, client)
	return <-done, asked
}

func TestBothEndsAgree(t *testing.T) {
	t.Parallel()
	if served, asked := pair(t, Config{Pings: 100}, Config{Pings: 100}); served != nil || asked != nil {
		t.Errorf("server: %v; client: %v", served, asked)
	}
}

// An end that expects more pings than the other one sends reports the end of the connection.
func TestMissingPingIsReported(t *testing.T) {
	t.Parallel()
	served, asked := pair(t, Config{Pings: 3}, Config{Pings: 2})
	if asked != nil || served == nil || !strings.Contains(served.Error(), "ping 2") {
		t.Errorf("server: %v, expected an error about ping 2; client: %v", served, asked)
	}
}

// A failed connection is reported, and leaves nothing open.
func TestFailedConnectionIsReported(t *testing.T) {
	t.Parallel()
	want := errors.New("no way")
	err := Run(t.Context(), device(t), Config{Pings: 1, Connect: func(verbs.QueuePair) error { return want }})
	if !errors.Is(err, want) {
		t.Errorf("%v, expected %v", err, want)
	}
}
