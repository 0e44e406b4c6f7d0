package nlm

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// The status monitor (NSM; The Open Group, XNFS, chapter 11). SM_NOTIFY has the form of the lock
// manager's nlm4_notify: the name of the host that has started, and the number of the start.
const (
	MonitorProgram = 100024
	MonitorVersion = 1
	procNotify     = 6
)

// Monitor describes the status monitor, with the one procedure that is served.
func Monitor() oncrpc.Program {
	return oncrpc.Program{Number: MonitorProgram, Version: MonitorVersion, Name: "SM_VERS", Procedures: map[uint32]string{0: "SM_NULL", procNotify: "SM_NOTIFY"}}
}

// notifications returns the service that clients call when they have started again.
func (s *Server) notifications() *rpc.Service {
	service := rpc.NewService(Monitor())
	rpc.Handle(service, procNotify, func(r *rpc.Request, args *nlm4.Notify, _ *oncrpc.Void) error {
		s.free(r, args, args.State)
		return nil
	})
	return service
}

// free releases the locks of a client that has started again, except what it has locked since the
// start with the number keep. The client may name itself with its domain here, and without it in
// its locks.
func (s *Server) free(r *rpc.Request, args *nlm4.Notify, keep int32) {
	from := client(r, args.Name)
	for _, c := range s.table.Clients() {
		if c.Host == from.Host && firstLabel(c.Name) == firstLabel(from.Name) {
			s.calls.grant(s.table.Free(c, keep))
		}
	}
}

// firstLabel returns the name of a host without its domain. An address is returned as it is.
func firstLabel(name string) string {
	if net.ParseIP(name) != nil {
		return name
	}
	label, _, _ := strings.Cut(strings.ToLower(name), ".")
	return label
}

// restart starts the grace period if clients had locks before, and calls them.
func (s *Server) restart() {
	if !s.grace.Load() {
		return
	}
	over, cancel := context.WithTimeout(s.ctx, s.cfg.Grace)
	s.tasks.Go(func() {
		defer cancel()
		<-over.Done()
		if s.ctx.Err() != nil {
			return
		}
		s.grace.Store(false)
		if err := s.monitor.settle(s.table.Clients); err != nil {
			s.log.Error("nlm: the clients that have locks cannot be noted", "error", err)
		}
	})
	hosts := map[string]bool{}
	for _, c := range s.monitor.former {
		hosts[c.Host] = true
	}
	s.tasks.Go(func() {
		var all sync.WaitGroup
		defer all.Wait()
		turns := make(chan struct{}, maxCalls)
		for host := range hosts {
			all.Go(func() { s.notify(over, host, turns) })
		}
	})
}

// notify calls the status monitor of a host, until it answers or ctx is done: the server has
// started.
func (s *Server) notify(ctx context.Context, host string, turns chan struct{}) {
	name, err := os.Hostname()
	if err != nil {
		name = "server"
	}
	name = name[:min(len(name), nlm4.StringSize)]
	try := func() error {
		turns <- struct{}{}
		defer func() { <-turns }()
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		over, err := s.cfg.Reach(ctx, Address{Host: host}, MonitorProgram, MonitorVersion)
		if err != nil {
			return err
		}
		defer over.Close()
		args := nlm4.Notify{Name: []byte(name), State: s.monitor.start}
		return rpc.NewClient(over, Monitor(), nil).Call(ctx, procNotify, &args, nil, nil)
	}
	for err := try(); err != nil && ctx.Err() == nil; err = try() {
		select {
		case <-time.After(s.cfg.Retry):
		case <-ctx.Done():
			s.log.Warn("nlm: a client that had locks cannot be called after the restart", "client", host, "error", err)
		}
	}
}
