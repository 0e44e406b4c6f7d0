package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// webFlags are the flags of the commands with a live page.
type webFlags struct {
	HTTP string `name:"http"`
}

// web is the live page of a command. A nil *web shows nothing.
type web struct {
	*monitor.Monitor
	server *http.Server
	done   chan struct{} // closed when the server is down
}

// webPath is the path of the page.
const webPath = "/debug/rpcrdma"

// open starts the page, if the user wants one, and prints where it is. An address without a host is
// of this machine alone, because the page shows the peers.
func (f *webFlags) open(ctx context.Context, env environment) (*web, error) {
	if f.HTTP == "" {
		return nil, nil
	}
	addr, err := listenAddress(f.HTTP)
	host, port, _ := net.SplitHostPort(addr)
	if err != nil {
		return nil, &failure{code: exitUsage, stage: "page", err: fmt.Errorf("-http: %w", err)}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, &failure{code: exitFailed, stage: "page", err: fmt.Errorf("-http: %w", err), help: "an address of this machine, and a port that this user may open, or 0 for any free one"}
	}
	w := &web{Monitor: monitor.New(&monitor.Config{Programs: []oncrpc.Program{perfV1}}), done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle(webPath, w.Monitor)
	mux.HandleFunc("/metrics", w.ServeMetrics)
	mux.Handle("/{$}", http.RedirectHandler(webPath, http.StatusFound))
	w.server = &http.Server{
		Handler: local(host, mux), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	go func() {
		defer close(w.done)
		_ = w.server.Serve(ln) // http.ErrServerClosed
	}()
	fmt.Fprintf(env.stderr, "page http://%s%s\n", ln.Addr(), webPath)
	return w, nil
}

// local refuses requests by a name that is neither localhost nor the one that the page listens at:
// a page from elsewhere can make a browser resolve its own name to this machine.
func local(at string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if net.ParseIP(strings.Trim(host, "[]")) == nil && host != "localhost" && host != at {
			http.Error(w, "ask for the page by an address, by localhost, or by the name in -http", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// close closes the page.
func (w *web) close() error {
	if w == nil {
		return nil
	}
	err := w.server.Close()
	<-w.done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// handler shows the calls that a server gets.
func (w *web) handler(h oncrpc.Handler) oncrpc.Handler {
	if w == nil {
		return h
	}
	return w.Handler(h)
}

// carrier shows the calls that a client makes.
func (w *web) carrier(c oncrpc.Carrier) oncrpc.Carrier {
	if w == nil {
		return c
	}
	return w.Carrier(c)
}

// watch shows the counts of a server, or of connections.
func (w *web) watch(name string, s monitor.Source) {
	if w != nil {
		w.Watch(name, s)
	}
}

// logger shows the warnings of a logger, and passes them on to next.
func (w *web) logger(next slog.Handler) *slog.Logger {
	if w == nil {
		return slog.New(next)
	}
	return slog.New(w.Log(next))
}
