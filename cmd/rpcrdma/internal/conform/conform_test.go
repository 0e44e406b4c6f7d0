package conform_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var quiet = slog.New(slog.DiscardHandler)

// servers start our server over each carrier.
var servers = map[conform.Carrier]func(t *testing.T, h oncrpc.Handler) string{
	conform.TCP: func(t *testing.T, h oncrpc.Handler) string {
		s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, &tcp.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s.Addr()
	},
	conform.UDP: func(t *testing.T, h oncrpc.Handler) string {
		s, err := udp.Listen(context.Background(), "127.0.0.1:0", h, &udp.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s.Addr()
	},
}

// Our server passes each case over each carrier (R15, R16, R28 to R31, R62, R65 to R67, R93, R94,
// R114 to R117, R129).
func TestOurServerPassesAllCases(t *testing.T) {
	for carrier, serve := range servers {
		t.Run(carrier.String(), func(t *testing.T) {
			t.Parallel()
			target := &conform.Target{
				Carrier: carrier, Addr: serve(t, rpc.NewHandler(nil, conform.NewService())),
				Program: program.Program, Version: program.Version1, Wait: 20 * time.Second,
			}
			passesAll(t, target)
		})
	}
	for name, open := range map[string]func() (verbs.Device, error){
		"rdmatcp": func() (verbs.Device, error) { return rdmatcp.Open(nil) },
		"iwarp":   func() (verbs.Device, error) { return iwarp.Open(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var devices [2]verbs.Device
			for i := range devices {
				d, err := open()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := d.Close(); err != nil {
						t.Error(err)
					}
				})
				devices[i] = d
			}
			s, err := rdmaio.Listen(context.Background(), devices[0], "127.0.0.1:0", rpc.NewHandler(nil, conform.NewService()), &rdmaio.Config{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			passesAll(t, &conform.Target{
				Carrier: conform.RDMA, Addr: s.Addr(), Device: devices[1],
				Program: program.Program, Version: program.Version1, Wait: 20 * time.Second,
			})
		})
	}
}

// passesAll runs all cases, and no case may fail.
func passesAll(t *testing.T, target *conform.Target) {
	t.Helper()
	for _, r := range runCases(t, target, conform.Cases()) {
		if r.Skipped == "" && !r.Passed {
			t.Errorf("%s (%s): expected %s, came %.100s", r.Case.Name, r.Case.Section, r.Expected, r.Came)
		}
	}
}

// runCases runs cases, one after another.
func runCases(t *testing.T, target *conform.Target, cases []conform.Case) []*conform.Result {
	t.Helper()
	var list []*conform.Result
	for i := range cases {
		r, err := target.Run(t.Context(), &cases[i])
		if err != nil {
			t.Errorf("%s: %v", cases[i].Name, err)
			return list
		}
		list = append(list, r)
	}
	return list
}
