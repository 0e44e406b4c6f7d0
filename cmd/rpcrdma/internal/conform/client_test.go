package conform_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program/programrpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// dialer makes one connection.
type dialer func(ctx context.Context) (c oncrpc.Carrier, end func(), err error)

// obey calls what the listener says, each time on another connection, until there are no more
// cases. It waits for a second where silence is allowed, and otherwise for as long as a test may.
func obey(t *testing.T, carrier conform.Carrier, dial dialer) {
	cases := conform.RepliesOver(carrier)
	with := func(limit time.Duration, f func(ctx context.Context, c *programrpc.ClientVersion1Client) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		c, end, err := dial(ctx)
		if err != nil {
			return err
		}
		defer end()
		return f(ctx, programrpc.NewClientVersion1Client(c, nil))
	}
	const control = 20 * time.Second
	for {
		report := program.Report{}
		err := with(control, func(ctx context.Context, c *programrpc.ClientVersion1Client) error {
			next, err := c.Next(ctx)
			if err != nil || next.Number == 0 {
				return err
			}
			report.Number = next.Number
			patience := control
			if cases[next.Number-1].Allows("no reply") {
				patience = time.Second
			}
			limit, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			answer, err := c.Try(limit, next.Number)
			came(&report, answer, err)
			return nil
		})
		if err == nil && report.Number == 0 {
			return
		}
		if err == nil {
			err = with(control, func(ctx context.Context, c *programrpc.ClientVersion1Client) error { return c.Report(ctx, &report) })
		}
		if err != nil {
			t.Errorf("case %d: %v", report.Number, err)
			return
		}
	}
}

// came fills in what a call gave.
func came(r *program.Report, answer *program.Answer, err error) {
	var refused *oncrpc.ReplyError
	switch {
	case err == nil:
		r.Came, r.First = program.CameResult, answer.Number
		if string(answer.Data) != "right answer" {
			r.First = 0
		}
	case errors.As(err, &refused) && refused.Reply == oncrpc.Accepted:
		r.Came, r.First, r.Second = program.Came(refused.Accept), refused.Range.Low, refused.Range.High
	case errors.As(err, &refused) && refused.Reject == oncrpc.RPCMismatch:
		r.Came, r.First, r.Second = program.CameRPCMismatch, refused.Range.Low, refused.Range.High
	case errors.As(err, &refused):
		r.Came, r.First = program.CameAuthError, uint32(refused.Auth)
	case errors.Is(err, context.DeadlineExceeded):
		r.Came = program.CameNothing
	case errors.Is(err, tcp.ErrPeerClosed):
		r.Came = program.CameLost
	default:
		r.Came = program.CameFault
	}
}

// overRDMA dials by a provider.
func overRDMA(open func() (verbs.Device, error)) func(t *testing.T) (verbs.Device, func(addr string) dialer) {
	return func(t *testing.T) (verbs.Device, func(addr string) dialer) {
		var devices [2]verbs.Device
		for i := range devices {
			d, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			devices[i] = d
		}
		return devices[0], func(addr string) dialer {
			return func(ctx context.Context) (oncrpc.Carrier, func(), error) {
				c, err := rdmaio.Dial(ctx, devices[1], addr, &rdmaio.Config{Logger: quiet})
				if err != nil {
					return nil, nil, err
				}
				return c, func() { _ = c.Close() }, nil
			}
		}
	}
}

// Our client passes each case over each carrier.
func TestOurClientPassesAllCases(t *testing.T) {
	for _, tt := range []struct {
		name    string
		carrier conform.Carrier
		open    func(t *testing.T) (verbs.Device, func(addr string) dialer)
	}{
		{"tcp", conform.TCP, func(*testing.T) (verbs.Device, func(addr string) dialer) {
			return nil, func(addr string) dialer {
				return func(ctx context.Context) (oncrpc.Carrier, func(), error) {
					c, err := tcp.Dial(ctx, addr, &tcp.Config{Logger: quiet})
					if err != nil {
						return nil, nil, err
					}
					return c, func() { _ = c.Close() }, nil
				}
			}
		}},
		{"udp", conform.UDP, func(*testing.T) (verbs.Device, func(addr string) dialer) {
			return nil, func(addr string) dialer {
				return func(ctx context.Context) (oncrpc.Carrier, func(), error) {
					c, err := udp.Dial(ctx, addr, nil)
					if err != nil {
						return nil, nil, err
					}
					return c, func() { _ = c.Close() }, nil
				}
			}
		}},
		{"rdmatcp", conform.RDMA, overRDMA(func() (verbs.Device, error) { return rdmatcp.Open(nil) })},
		{"iwarp", conform.RDMA, overRDMA(func() (verbs.Device, error) { return iwarp.Open(nil) })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dev, dial := tt.open(t)
			for _, r := range listenTo(t, tt.carrier, dev, conform.RepliesOver(tt.carrier), func(addr string) { obey(t, tt.carrier, dial(addr)) }) {
				if !r.Passed {
					t.Errorf("%s (%s): expected %s, came %s", r.Case.Name, r.Case.Section, r.Expected, r.Came)
				}
			}
		})
	}
}

// listenTo runs cases over a carrier with a client. Each case must have a result.
func listenTo(t *testing.T, carrier conform.Carrier, dev verbs.Device, cases []conform.Reply, client func(addr string)) []*conform.Result {
	t.Helper()
	l, err := conform.Listen(t.Context(), carrier, dev, "127.0.0.1:0", 30*time.Second, cases)
	if err != nil {
		t.Error(err)
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		client(l.Addr())
	}()
	var list []*conform.Result
	if err := l.Run(t.Context(), func(r *conform.Result) { list = append(list, r) }); err != nil {
		t.Error(err)
	}
	<-done
	if len(list) != len(cases) {
		t.Errorf("%d results of %d cases", len(list), len(cases))
	}
	return list
}
