package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

type serveCmd struct {
	Quiet bool `short:"q"`
	JSON  bool `name:"json"`
	deviceFlags
	Addr string `arg:"" optional:"" default:":20049"`
}

// run serves until the context is done.
func (c *serveCmd) run(ctx context.Context, env environment) (err error) {
	if c.Provider == "mem" {
		return &failure{
			code: exitUsage, stage: "serve", err: errors.New("a server of the provider mem can only be reached from its own process"),
			help: "rpcrdma perf -provider mem, which runs client and server in one process",
		}
	}
	if err := c.deviceFlags.check(); err != nil {
		return &failure{code: exitUsage, stage: "serve", err: err}
	}
	if c.TLS && c.Cert == "" {
		return &failure{code: exitUsage, stage: "serve", err: errors.New("a server with -tls needs a certificate: -cert, and -key"), help: "docs/tls.md shows how to make one"}
	}
	addr, err := listenAddress(c.Addr)
	if err != nil {
		return &failure{code: exitUsage, stage: "serve", err: err}
	}
	f, err := newFabric(&c.deviceFlags, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	cfg := f.config()
	if !c.Quiet {
		f.log = slog.New(slog.NewTextHandler(env.stderr, nil))
		cfg.Logger = f.log
	}
	dev, err := f.open("server")
	if err != nil {
		return err
	}
	s, err := rdmaio.Listen(ctx, dev, addr, newService(), cfg)
	if err != nil {
		fail := &failure{code: exitFailed, stage: "listen", err: err, help: "an address of this machine, and a port that this user may open"}
		if errors.Is(err, verbs.ErrAddressInUse) {
			fail.help = "another port, or 0 for any free one"
		}
		return fail
	}
	if c.JSON {
		line, _ := json.Marshal(map[string]any{"v": 1, "type": "ready", "address": s.Addr(), "provider": c.Provider})
		fmt.Fprintf(env.stdout, "%s\n", line)
	}
	fmt.Fprintf(env.stderr, "ready %s\n", s.Addr())
	select {
	case <-ctx.Done():
	case <-s.Done(): // it no longer accepts connections
		return errors.Join(&failure{code: exitFailed, stage: "serve", err: s.Err()}, s.Close())
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return errors.Join(s.Shutdown(limit), s.Close())
}

// drainTime is the time limit for calls in progress when the server shuts down.
const drainTime = 5 * time.Second
