package continued

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Options selects the measurements and their duration.
type Options struct {
	Rounds int
	Slice  time.Duration  // of each case in each round
	Match  *regexp.Regexp // cases to measure, by Result.String; nil: all
}

// Compare measures everything in the same rounds.
func Compare(o Options) (results []Result, err error) {
	s := &suite{Options: o}
	defer func() {
		for _, f := range slices.Backward(s.closes) {
			err = errors.Join(err, f())
		}
	}()
	network := mem.New(nil)
	server, err := network.Open("server", nil)
	if err != nil {
		return nil, err
	}
	s.closes = append(s.closes, server.Close)
	client, err := network.Open("client", nil)
	if err != nil {
		return nil, err
	}
	s.closes = append(s.closes, client.Close)
	tcp, err := rdmatcp.Open(nil)
	if err != nil {
		return nil, err
	}
	s.closes = append(s.closes, tcp.Close)
	for _, inline := range Inlines {
		if err := s.open(Mem, client, server, fmt.Sprint(inline), inline); err != nil {
			return nil, err
		}
		if err := s.open(RDMATCP, tcp, tcp, "127.0.0.1:0", inline); err != nil {
			return nil, err
		}
	}
	figures, err := measure.Interleaved(s.cases, o.Rounds, o.Slice)
	if err != nil {
		return nil, err
	}
	for i, f := range figures {
		s.results[i].NS, s.results[i].Low, s.results[i].Objects = f.NS, f.Low, f.Allocs
	}
	return s.results, nil
}

// suite holds all cases of a comparison.
type suite struct {
	Options
	cases   []measure.Case
	results []Result // of the cases
	closes  []func() error
}

// open adds the cases of a provider and an inline size.
func (s *suite) open(provider string, client, server verbs.Device, addr string, inline int) error {
	cfg := rdmaio.Config{NonBlocking: true, Versions: []int{2}, InlineSend: inline, InlineRecv: inline}
	srv, err := rdmaio.Listen(context.Background(), server, addr, newHandler(slices.Max(Sizes)), &cfg)
	if err != nil {
		return err
	}
	s.closes = append(s.closes, srv.Close)
	// 1024: more than the RPC headers have
	for _, most := range []int{slices.Max(Sizes) + 1024, -1} {
		cfg.Continue = most
		conn, err := rdmaio.Dial(context.Background(), client, srv.Addr(), &cfg)
		if err != nil {
			return err
		}
		s.closes = append(s.closes, conn.Close)
		if err := s.add(Result{Provider: provider, Inline: inline}, conn, most > 0); err != nil {
			return err
		}
	}
	return nil
}

// add adds the cases of a connection, which continues long messages or does not.
func (s *suite) add(r Result, conn *rdmaio.Conn, continues bool) error {
	xid := new(uint32)
	for _, r.Direction = range []string{Call, Reply} {
		for _, r.Way = range Ways(r.Direction) {
			if (r.Way == Continued) != continues {
				continue
			}
			way := r.Way
			if continues { // the same message, which conn does not offer as a chunk
				way = map[string]string{Call: LongChunk, Reply: ReplyChunk}[r.Direction]
			}
			for _, r.Size = range Sizes {
				if s.Match != nil && !s.Match.MatchString(r.String()) {
					continue
				}
				c := newClient(conn, xid, way, r.Size)
				if err := c.check(); err != nil {
					return fmt.Errorf("%v: %w", &r, err)
				}
				s.results = append(s.results, r)
				s.cases = append(s.cases, measure.Case{Name: r.String(), Run: measure.Loop(c.do)})
			}
		}
	}
	return nil
}
