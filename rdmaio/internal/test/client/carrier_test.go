package client

import (
	"log/slog"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
)

// Connections are carriers like all others, over each provider and in both versions.
func TestConnectionsPassTheCarrierSuite(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for name, world := range map[string]func(testing.TB) *rdmaiotest.World{
		"mem": rdmaiotest.New, "rdmatcp": rdmaiotest.NewTCP, "iwarp": rdmaiotest.NewIWARP,
	} {
		for version, suffix := range map[int]string{1: "", 2: ", version 2"} {
			t.Run(name+suffix, func(t *testing.T) {
				carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
					w := world(t)
					w.Serve(server, &rdmaio.Config{Versions: []int{version}, ReverseCredits: 8, Logger: quiet})
					return w.Dial(&rdmaio.Config{Versions: []int{version}, ReverseHandler: client, Logger: quiet})
				})
			})
		}
	}
}

// R278, R280: reverse Calls outlive connections.
func TestBackchannelPassesTheCarrierSuite(t *testing.T) {
	carriertest.RunBackchannel(t, func(t *testing.T, handler func(func(oncrpc.Conn)) oncrpc.Handler) carriertest.BackchannelServer {
		w, back := rdmaiotest.New(t), rdmaio.NewBackchannel(nil)
		w.Serve(handler(func(c oncrpc.Conn) { back.Bind(c.(*rdmaio.Conn)) }), &rdmaio.Config{ReverseCredits: 4})
		return carriertest.BackchannelServer{
			Back: back,
			Dial: func(_ *testing.T, reverse oncrpc.Handler) carriertest.Conn {
				return w.Dial(&rdmaio.Config{ReverseHandler: reverse})
			},
		}
	})
}
