package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/activation"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

type serveCmd struct {
	Quiet bool `short:"q"`
	JSON  bool `name:"json"`
	webFlags
	deviceFlags
	Carrier string `default:"rdma" enum:"tcp,udp,rdma"`
	Addr    string `arg:"" optional:"" default:":20049"`
}

// run serves until the context is done.
func (c *serveCmd) run(ctx context.Context, env environment) (err error) {
	if c.Provider == "mem" {
		return &failure{
			code: exitUsage, stage: "serve", err: errors.New("a server of the provider mem can only be reached from its own process"),
			help: "rpcrdma perf -provider mem, which runs client and server in one process",
		}
	}
	err = c.deviceFlags.check()
	switch {
	case err != nil:
	case c.Carrier != "rdma" && (c.Trace != "" || c.Pcap != ""):
		err = errors.New("-trace and -pcap show RDMA: they have no effect with -carrier " + c.Carrier)
	case oncrpc.IsLocal(c.Addr) && c.Carrier != "tcp":
		err = fmt.Errorf("found the socket %s, expected [HOST:]PORT with -carrier %s: only -carrier tcp has local sockets", c.Addr, c.Carrier)
	case strings.HasPrefix(c.Addr, activatedPrefix) && c.Carrier == "rdma":
		err = fmt.Errorf("found the address %s, expected [HOST:]PORT: systemd has no sockets for RDMA, only for -carrier tcp and udp", c.Addr)
	case c.Carrier == "udp" && c.TLS:
		err = errors.New("-tls is for streams: it is not possible with -carrier udp")
	}
	if err != nil {
		return &failure{code: exitUsage, stage: "serve", err: err}
	}
	if c.TLS && c.Cert == "" {
		return &failure{code: exitUsage, stage: "serve", err: errors.New("a server with -tls needs a certificate: -cert, and -key"), help: "docs/tls.md shows how to make one"}
	}
	addr, err := listenAddress(c.Addr)
	if err != nil {
		return &failure{code: exitUsage, stage: "serve", err: err}
	}
	out := slog.DiscardHandler
	if !c.Quiet {
		out = slog.NewTextHandler(env.stderr, nil)
		c.deviceFlags.log = slog.New(out)
	}
	f, err := newFabric(&c.deviceFlags, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if f.certs != nil {
		defer f.certs.ReloadAt()()
	}
	page, err := c.webFlags.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.close()) }()
	cfg := f.config()
	if !c.Quiet || page != nil {
		f.log = page.logger(out)
		cfg.Logger = f.log
	}
	s, err := c.listen(ctx, f, addr, cfg, page)
	var fail *failure
	if errors.As(err, &fail) {
		return err
	}
	if err != nil {
		fail = &failure{code: exitFailed, stage: "listen", err: err, help: "an address of this machine, and a port that this user may open"}
		if errors.Is(err, verbs.ErrAddressInUse) || errors.Is(err, syscall.EADDRINUSE) {
			fail.help = "another port, or 0 for any free one"
			if oncrpc.IsLocal(addr) {
				fail.help = "another path, or stop the server that listens there"
			}
		}
		if errors.Is(err, activation.ErrNone) {
			fail.help = "a socket unit of systemd, or systemd-socket-activate, which pass the socket: docs/oncrpc.md"
		}
		return fail
	}
	if c.JSON {
		line, _ := json.Marshal(map[string]any{"v": 1, "type": "ready", "address": s.Addr(), "carrier": c.Carrier, "provider": c.Provider})
		fmt.Fprintf(env.stdout, "%s\n", line)
	}
	fmt.Fprintf(env.stderr, "ready %s\n", s.Addr())
	notify(env.stderr, "READY=1")
	select {
	case <-ctx.Done():
		notify(env.stderr, "STOPPING=1")
	case <-s.Done(): // it no longer accepts connections
		return errors.Join(&failure{code: exitFailed, stage: "serve", err: s.Err()}, s.Close())
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(s.Shutdown(limit), s.Close())
}

// testServer is a server of any carrier.
type testServer interface {
	Addr() string
	Done() <-chan struct{}
	Err() error
	Shutdown(ctx context.Context) error
	Close() error
}

// datagramServer is a server without connections, which ends when it is closed.
type datagramServer struct{ *udp.Server }

func (datagramServer) Done() <-chan struct{}          { return nil }
func (datagramServer) Err() error                     { return nil }
func (datagramServer) Shutdown(context.Context) error { return nil }

// listen starts the server. An error of the device is a *failure.
func (c *serveCmd) listen(ctx context.Context, f *fabric, addr string, cfg *rdmaio.Config, page *web) (testServer, error) {
	h := page.handler(newService())
	switch c.Carrier {
	case "udp":
		s, err := packetServer(ctx, addr, h, &udp.Config{Logger: f.log})
		if err != nil {
			return nil, err
		}
		page.watch("server", monitor.Client(s))
		return datagramServer{s}, nil
	case "tcp":
		stream := &tcp.Config{Logger: f.log}
		if c.TLS {
			stream.TLS = tcp.TLS{Mode: tcp.TLSRequired, Config: f.secure}
		}
		s, err := streamServer(ctx, addr, h, stream)
		if err == nil {
			page.watch("server", monitor.Server(s))
		}
		return s, err
	}
	dev, err := f.open("server")
	if err != nil {
		return nil, err
	}
	s, err := rdmaio.Listen(ctx, dev, addr, h, cfg)
	if err == nil {
		page.watch("server", monitor.Server(s))
	}
	return s, err
}

// drainTime is the time limit for calls in progress when the server shuts down.
const drainTime = 5 * time.Second
