package perftest

import (
	"context"
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

// ends returns the functions that connect a client and a server.
func ends(t *testing.T, client, server verbs.Device) (dial, accept func(verbs.QueuePair) error) {
	t.Helper()
	ln, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	dial = func(qp verbs.QueuePair) error {
		_, err := client.Dial(t.Context(), ln.Addr(), qp, nil)
		return err
	}
	accept = func(qp verbs.QueuePair) error {
		req, err := ln.Accept(t.Context())
		if err != nil {
			return err
		}
		_, err = req.Accept(t.Context(), qp, nil)
		return err
	}
	return dial, accept
}

// TestRun runs both ends of this package against each other.
func TestRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		op       verbs.Opcode
		messages int
		noCredit bool
		credit   int
	}{
		{"send", verbs.Send, Receives, false, Receives / 3 * 3},
		{"send of one", verbs.Send, 1, false, 0},
		{"send without credit", verbs.Send, Receives, true, 0},
		{"write", verbs.RDMAWrite, 1000, false, 0},
		{"read", verbs.RDMARead, 1000, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, server := device(t), device(t)
			dial, accept := ends(t, client, server)
			done := make(chan error, 1)
			go func() {
				cfg := Config{Server: true, Op: tt.op, Messages: tt.messages, Size: 4096, NoCredit: tt.noCredit, Connect: accept}
				_, err := Run(t.Context(), server, cfg)
				done <- err
			}()
			res, err := Run(t.Context(), client, Config{Op: tt.op, Messages: tt.messages, Size: 4096, NoCredit: tt.noCredit, Connect: dial})
			if err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			if res.Version != "5.70" || res.Credit != tt.credit || res.Time <= 0 {
				t.Errorf("result %+v, expected version 5.70, credit %d and a time", res, tt.credit)
			}
		})
	}
}

// TestRunDiffers runs ends that do not agree.
func TestRunDiffers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		client, server Config
		want           string // in the server's error
	}{
		{"size", Config{Messages: 1, Size: 100}, Config{Messages: 1, Size: 200}, "message 1 has 100 bytes, expected 200"},
		{"program", Config{Messages: 1, Size: 100}, Config{Op: verbs.RDMAWrite, Messages: 1, Size: 100}, "a message of 56 bytes, expected 8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, server := device(t), device(t)
			tt.client.Connect, tt.server.Connect = ends(t, client, server)
			tt.server.Server = true
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := Run(ctx, client, tt.client)
				done <- err
			}()
			if _, err := Run(ctx, server, tt.server); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the server's error is %v, expected %q in it", err, tt.want)
			}
			if err := <-done; err == nil {
				t.Error("the client has no error")
			}
		})
	}
}

// TestTooMany refuses more messages than the peer has Receives.
func TestTooMany(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), device(t), Config{Messages: Receives + 1, Size: 1})
	if err == nil || !strings.Contains(err.Error(), "513 messages, expected at most") {
		t.Errorf("error %v", err)
	}
}
