package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// listen tests a client, which calls this side.
func (c *conformCmd) listen(ctx context.Context, env environment, pattern *regexp.Regexp) (err error) {
	addr, err := listenAddress(c.Host)
	if err != nil {
		return &failure{code: exitUsage, stage: "conform", err: err}
	}
	carrier := conformCarriers[c.Carrier]
	cases := slices.DeleteFunc(conform.RepliesOver(carrier), func(r conform.Reply) bool { return !pattern.MatchString(r.Name) })
	if len(cases) == 0 {
		return c.end(env, map[string]any{}, new(tally), 0)
	}
	var dev verbs.Device
	if carrier == conform.RDMA {
		f, failed := c.open(env, "server", &dev)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, f.close()) }()
	}
	l, err := conform.Listen(ctx, carrier, dev, addr, c.Wait, cases)
	if err != nil {
		return &failure{code: exitFailed, stage: "listen", err: err, help: "an address of this machine, and a port that this user may open"}
	}
	if c.JSON {
		printJSON(env, "ready", map[string]any{"address": l.Addr(), "carrier": c.Carrier, "provider": string(c.Provider)})
	}
	fmt.Fprintf(env.stderr, "ready %s\n", l.Addr())
	var sum tally
	start := time.Now()
	last := start
	err = l.Run(ctx, func(r *conform.Result) {
		now := time.Now()
		c.print(env, r, now.Sub(last), &sum)
		last = now
	})
	if !c.JSON {
		fmt.Fprintf(env.stdout, "client over %s: %v\n", c.Carrier, sum.text(time.Since(start)))
	}
	switch {
	case errors.Is(err, conform.ErrGone):
		return &failure{code: exitSilent, stage: "conform", err: err, help: "a longer -W; the client must call CLIENT_NEXT until it gets the number 0: docs/conform.md"}
	case err != nil:
		return &failure{code: exitFailed, stage: "conform", err: errors.New("interrupted")}
	}
	return c.end(env, map[string]any{"address": l.Addr()}, &sum, time.Since(start))
}
