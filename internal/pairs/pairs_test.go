package pairs_test

import (
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/pairs"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	verbsmem "github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var quiet = slog.New(slog.DiscardHandler)

// calls is the number of Calls at a time: more than the default of MaxCalls.
const calls = 300

// inBubble runs a row with a clock that advances when all goroutines wait.
func inBubble(t *testing.T, row func(t *testing.T)) { synctest.Test(t, row) }

// overTCP has the Configs of package tcp.
func overTCP() pairs.Ends {
	return pairs.Ends{
		Client: []any{new(tcp.ClientConfig), &tcp.Config{Logger: quiet}},
		Server: []any{&tcp.Config{Logger: quiet}, new(replycache.Config)},
	}
}

// closes closes something at the end of a test.
func closes(t *testing.T, c interface{ Close() error }) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Within a process, in a bubble of package synctest.
func TestDefaultsFitOverMem(t *testing.T) {
	pairs.Run(t, pairs.Carrier{New: overTCP, Calls: calls, Around: inBubble, Few: testing.Short(), Open: func(t *testing.T, e pairs.Ends, h, reverse oncrpc.Handler) (oncrpc.Carrier, func() pairs.Counts) {
		return overMem(t, e, h, reverse, nil)
	}})
}

// overMem opens a network within the process, with faults.
func overMem(t *testing.T, e pairs.Ends, h, reverse oncrpc.Handler, fault func(mem.Record) mem.Fault) (oncrpc.Carrier, func() pairs.Counts) {
	n, err := mem.NewNetwork(replycache.New(h, e.Server[1].(*replycache.Config)), &mem.NetworkConfig{Server: e.Server[0].(*tcp.Config), Fault: fault})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, n)
	cfg, conn := e.Client[0].(*tcp.ClientConfig), e.Client[1].(*tcp.Config)
	conn.ReverseHandler, cfg.Conn = reverse, conn
	c, err := n.NewClient(cfg)
	return client(t, c, err)
}

// No time-out of either end breaks a connection whose handlers take ten minutes, at both ends, or
// that is not used for twenty. Of several connections, the server closes those that it was not
// allowed to call on.
func TestTimesFitSlowHandlers(t *testing.T) {
	const pause = 10 * time.Minute
	t.Run("mem", func(t *testing.T) {
		pairs.Run(t, pairs.Carrier{
			New: overTCP, Calls: 6, Pause: pause, Around: inBubble, Few: testing.Short(), Skip: []string{"tcp.ClientConfig.Connections"},
			Open: func(t *testing.T, e pairs.Ends, h, reverse oncrpc.Handler) (oncrpc.Carrier, func() pairs.Counts) {
				return overMem(t, e, h, reverse, nil)
			},
		})
	})
	for version, name := range map[int]string{1: "RDMA", 2: "RDMA version 2"} {
		t.Run(name, func(t *testing.T) {
			c := pairs.OverRDMA([]int{version}, overMemDevice)
			c.Calls, c.Pause, c.Around, c.Few = 6, pause, inBubble, testing.Short()
			c.Skip = []string{"rdmaio.ClientConfig.Connections"}
			pairs.Run(t, c)
		})
	}
}

// R288: a Call whose connection is lost for the client alone is executed once, with every limit and
// time at its extremes, however much later the server learns of the loss. Before, a Grace of 1 s
// and a PeerTimeout of 30 s executed it twice.
func TestTimesFitLateLosses(t *testing.T) {
	for _, late := range []time.Duration{time.Second / 10, 2 * time.Second, 29 * time.Second, time.Minute, 2 * time.Minute} {
		t.Run(late.String(), func(t *testing.T) {
			pairs.Run(t, pairs.Carrier{
				New: overTCP, Calls: 1, OneWay: true, Around: inBubble, Few: testing.Short(),
				// Without retransmission a Call fails, without Grace it is not held back, and in
				// the smallest sizes no reply fits.
				Skip: []string{
					"tcp.ClientConfig.Retransmits", "replycache.Config.Grace",
					"replycache.Config.Bytes", "replycache.Config.MaxBytes", "replycache.Config.MaxReply",
				},
				Open: func(t *testing.T, e pairs.Ends, h, reverse oncrpc.Handler) (oncrpc.Carrier, func() pairs.Counts) {
					c, _ := overMem(t, e, h, reverse, func(r mem.Record) mem.Fault {
						if r.Conn == 0 && !r.Reply && r.Number == 0 {
							return mem.Fault{Kind: mem.LoseAfter, Delay: late}
						}
						return mem.Fault{}
					})
					return c, func() pairs.Counts { return pairs.Counts{} }
				},
			})
		})
	}
}

// Over TCP.
func TestDefaultsFitOverTCP(t *testing.T) {
	pairs.Run(t, pairs.Carrier{New: overTCP, Calls: calls, Few: testing.Short(), Open: openTCP})
}

// openTCP opens both ends over TCP.
func openTCP(t *testing.T, e pairs.Ends, h, reverse oncrpc.Handler) (oncrpc.Carrier, func() pairs.Counts) {
	s, err := tcp.Listen(t.Context(), "127.0.0.1:0", replycache.New(h, e.Server[1].(*replycache.Config)), e.Server[0].(*tcp.Config))
	if err != nil {
		t.Fatal(err)
	}
	closes(t, s)
	cfg, conn := e.Client[0].(*tcp.ClientConfig), e.Client[1].(*tcp.Config)
	conn.ReverseHandler, cfg.Conn = reverse, conn
	c, err := tcp.NewClient(s.Addr(), cfg)
	return client(t, c, err)
}

// client returns a Client over TCP and its counts.
func client(t *testing.T, c *tcp.Client, err error) (oncrpc.Carrier, func() pairs.Counts) {
	if err != nil {
		t.Fatal(err)
	}
	closes(t, c)
	return c, func() pairs.Counts {
		st := c.Stats()
		return pairs.Counts{Lost: st.Lost, Again: st.Retransmissions}
	}
}

// Over UDP, where Calls beyond the server's limit are made again, so that only the results count.
func TestDefaultsFitOverUDP(t *testing.T) {
	pairs.Run(t, pairs.Carrier{
		New: func() pairs.Ends {
			return pairs.Ends{Client: []any{new(udp.Config)}, Server: []any{&udp.Config{Logger: quiet}, new(replycache.Config)}}
		},
		Calls: 100, OneWay: true, Few: testing.Short(),
		Open: func(t *testing.T, e pairs.Ends, h, _ oncrpc.Handler) (oncrpc.Carrier, func() pairs.Counts) {
			s, err := udp.Listen(t.Context(), "127.0.0.1:0", replycache.New(h, e.Server[1].(*replycache.Config)), e.Server[0].(*udp.Config))
			if err != nil {
				t.Fatal(err)
			}
			closes(t, s)
			c, err := udp.Dial(t.Context(), s.Addr(), e.Client[0].(*udp.Config))
			if err != nil {
				t.Fatal(err)
			}
			closes(t, c)
			return c, func() pairs.Counts { return pairs.Counts{} }
		},
	})
}

// overMemDevice opens one device of package mem for both ends. Its network has one Config.
func overMemDevice(t *testing.T, client, server *verbsmem.Config) (verbs.Device, verbs.Device, string) {
	cfg := client
	if *server != (verbsmem.Config{}) {
		cfg = server
	}
	d, err := verbsmem.New(cfg).Open("device", nil)
	if err != nil {
		t.Fatal(err)
	}
	closes(t, d)
	return d, d, "here"
}

// devices opens the devices of both ends with their Configs.
func devices[C any](open func(*C) (verbs.Device, error)) func(t *testing.T, client, server *C) (verbs.Device, verbs.Device, string) {
	return func(t *testing.T, client, server *C) (verbs.Device, verbs.Device, string) {
		var both [2]verbs.Device
		for i, cfg := range []*C{client, server} {
			d, err := open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			closes(t, d)
			both[i] = d
		}
		return both[0], both[1], "127.0.0.1:0"
	}
}

// overRDMA has the carriers over each provider that this package can open.
var overRDMA = map[string]func(versions []int) pairs.Carrier{
	"mem": func(versions []int) pairs.Carrier {
		c := pairs.OverRDMA(versions, overMemDevice)
		c.Around = inBubble
		return c
	},
	"rdmatcp": func(versions []int) pairs.Carrier {
		return pairs.OverRDMA(versions, devices(func(c *rdmatcp.Config) (verbs.Device, error) { return rdmatcp.Open(c) }))
	},
	"iwarp": func(versions []int) pairs.Carrier {
		return pairs.OverRDMA(versions, devices(func(c *iwarp.Config) (verbs.Device, error) { return iwarp.Open(c) }))
	},
}

// Over RDMA, with each provider that this package can open, in both versions. Package ibverbs has
// the same test over its fake library.
func TestDefaultsFitOverRDMA(t *testing.T) {
	for name, over := range overRDMA {
		for version, suffix := range map[int]string{1: "", 2: " version 2"} {
			if xdrtest.Race && version == 1 {
				continue // the same goroutines
			}
			t.Run(name+suffix, func(t *testing.T) {
				c := over([]int{version})
				c.Calls, c.Few = calls, testing.Short()
				pairs.Run(t, c)
			})
		}
	}
}

// With host authentication, whose limits and times have rows, too.
func TestDefaultsFitWithHostAuth(t *testing.T) {
	hosts := rdmaiotest.NewHosts(t)
	c := overRDMA["rdmatcp"]([]int{2})
	ends := c.New
	c.New = func() pairs.Ends {
		e := ends()
		for config, key := range map[any]pubkey.Config{e.Client[1]: hosts.ClientKey(), e.Server[0]: hosts.ServerKey()} {
			config.(*rdmaio.Config).HostAuth = rdmaio.HostAuth{Mode: rdmaio.HostAuthRequired, Method: rdmaiotest.Method(t, key)}
		}
		return e
	}
	c.Calls, c.Few = 30, testing.Short()
	pairs.Run(t, c)
}

// With TLS, whose limits and times have rows, too.
func TestDefaultsFitOverTLS(t *testing.T) {
	a := tlstest.NewAuthority(t)
	pairs.Run(t, pairs.Carrier{
		New: func() pairs.Ends {
			e := overTCP()
			for _, config := range []any{e.Client[1], e.Server[0]} {
				config.(*tcp.Config).TLS = tcp.TLS{Mode: tcp.TLSRequired, Config: a.Config()}
			}
			return e
		},
		Calls: 100, Few: testing.Short(), Open: openTCP,
	})
}

// A client of eight connections, and a server that has a place for one: no connection takes the
// place of another that is at work, and the Calls go over the one that there is.
func TestSeveralConnectionsFitAFullServer(t *testing.T) {
	t.Run("tcp", func(t *testing.T) {
		pairs.Run(t, pairs.Carrier{New: func() pairs.Ends {
			e := overTCP()
			e.Client[0].(*tcp.ClientConfig).Connections, e.Server[0].(*tcp.Config).MaxConns = 8, 1
			return e
		}, Calls: calls, Few: true, Skip: []string{"tcp.ClientConfig.Connections", "tcp.Config.MaxConns"}, Open: func(t *testing.T, e pairs.Ends, h, reverse oncrpc.Handler) (oncrpc.Carrier, func() pairs.Counts) {
			c, counts := openTCP(t, e, h, reverse)
			// Over TCP a connection that is rejected counts as lost.
			return c, func() pairs.Counts { return pairs.Counts{Again: counts().Again} }
		}})
	})
	for name, over := range overRDMA {
		t.Run(name, func(t *testing.T) {
			c := over([]int{1, 2})
			ends := c.New
			c.New = func() pairs.Ends {
				e := ends()
				e.Client[0].(*rdmaio.ClientConfig).Connections, e.Server[0].(*rdmaio.Config).MaxConns = 8, 1
				return e
			}
			c.Calls, c.Few, c.Skip = calls, true, []string{"rdmaio.ClientConfig.Connections", "rdmaio.Config.MaxConns"}
			pairs.Run(t, c)
		})
	}
}

// A row without values, and a field without a row, are found.
func TestRowsAndFieldsAreTheSame(t *testing.T) {
	known := pairs.Names(new(tcp.Config), new(tcp.ClientConfig), new(udp.Config), new(rdmaio.Config), new(rdmaio.ClientConfig), new(replycache.Config),
		new(verbsmem.Config), new(rdmatcp.Config), new(iwarp.Config), new(ibverbs.Config))
	for name := range pairs.Values() {
		if !known[name] {
			t.Errorf("%s is not a number or a time in a Config", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("%s has no row", name)
	}
}
