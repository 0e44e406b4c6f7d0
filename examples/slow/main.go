// Command slow makes calls to a server that is slow for a cause, and shows which part of the calls
// takes long. docs/why-slow.md is about it.
//
//	go run ./examples/slow credits
//	go run ./examples/slow -http localhost:6060 network
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "slow:", err)
		os.Exit(1)
	}
}

// run runs the command: once, or with -http until ctx is done.
func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("slow", flag.ContinueOnError)
	flags.SetOutput(out)
	at := flags.String("http", "", "go on until ^C, with the live page and metrics at this `address`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := causeOf(flags.Arg(0))
	if c == nil || flags.NArg() != 1 {
		return fmt.Errorf("which cause? One of %s", strings.Join(names(), ", "))
	}
	m := monitor.New(&monitor.Config{Programs: program})
	m.Metrics(0) // calls are recorded from now on
	s, err := c.start(ctx, m)
	if err != nil {
		return err
	}
	defer s.close()
	if *at != "" {
		return serve(ctx, out, m, s, *at)
	}
	waiting := make(chan float64)
	over := make(chan struct{})
	go func() { waiting <- mostWaiting(m, over) }()
	err = s.calls(ctx, c.total)
	close(over)
	print(out, m, <-waiting)
	return err
}

// serve makes calls until ctx is done, and shows them at an address of this machine.
func serve(ctx context.Context, out io.Writer, m *monitor.Monitor, s *setup, at string) error {
	ln, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/rpcrdma", m)
	mux.HandleFunc("/metrics", m.ServeMetrics)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go web.Serve(ln)
	defer web.Close()
	fmt.Fprintf(out, "page http://%s/debug/rpcrdma\nmetrics http://%[1]s/metrics\n", ln.Addr())
	for ctx.Err() == nil {
		if err := s.calls(ctx, s.total); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// mostWaiting returns the largest number of calls that waited for a handler at a time.
func mostWaiting(m *monitor.Monitor, over <-chan struct{}) (most float64) {
	for {
		for _, d := range m.Metrics(0) {
			for _, p := range d.Points {
				if d.Name == "requests.waiting" {
					most = max(most, p.Value)
				}
			}
		}
		select {
		case <-over:
			return most
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// print prints the means of the parts, as the live page shows them.
func print(out io.Writer, m *monitor.Monitor, waiting float64) {
	mean := func(t *monitor.Times) time.Duration {
		return (t.Sum / time.Duration(max(t.Count, 1))).Round(10 * time.Microsecond)
	}
	list := m.Look(monitor.Query{}).Procedures
	slices.SortFunc(list, func(a, b monitor.Procedure) int { return cmp.Compare(sideOf(&a), sideOf(&b)) })
	for _, p := range list {
		if !p.Made {
			fmt.Fprintf(out, "server: handler %v, sending %v; at most %v waited for a handler\n", mean(&p.Times), mean(&p.Sending), waiting)
		} else if p.Parts != nil {
			fmt.Fprintf(out, "client: waited %v, sent %v, served %v, received %v\n",
				mean(&p.Parts.Waited), mean(&p.Parts.Sent), mean(&p.Parts.Served), mean(&p.Parts.Received))
		}
	}
}

func sideOf(p *monitor.Procedure) string {
	if p.Made {
		return "client"
	}
	return "server"
}
