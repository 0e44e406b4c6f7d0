package pairs

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Ends are the Configs of both ends: pointers to structs with defaults, which a row changes in one
// field before Open uses them.
type Ends struct{ Client, Server []any }

// Counts has the client's counts at the end.
type Counts struct {
	Lost  uint64 // connections that it did not close
	Again uint64 // Calls that it sent again
}

// Carrier is a carrier under test.
type Carrier struct {
	// New returns Configs with defaults. The loggers may be set.
	New func() Ends

	// Open starts a server of h, and returns a client. reverse serves the server's Calls to it. The
	// function counts.
	Open func(t *testing.T, e Ends, h, reverse oncrpc.Handler) (c oncrpc.Carrier, counts func() Counts)

	// Calls is the number of Calls at a time. OneWay says that the server cannot call the client.
	Calls  int
	OneWay bool

	// Pause is the time that handlers of both ends take. Twice as long after the Calls there is
	// another one. It must be far longer than all times of Configs.
	Pause time.Duration

	// Skip has the names of fields that say that a Call may fail or be executed again.
	Skip []string

	// Few runs the defaults, and every tenth row, which depends on the carrier's name.
	Few bool

	// Around runs a row, for example in a bubble of package synctest. If nil, it runs as it is.
	Around func(t *testing.T, row func(t *testing.T))
}

// program is the program that both ends serve. Procedure 2 calls procedure 1 of the client, and
// procedure 1 only counts.
var program = oncrpc.Program{Number: 400_010, Version: 1}

// Run tests the defaults, and each row of both ends.
func Run(t *testing.T, c Carrier) {
	if c.Around == nil {
		c.Around = func(t *testing.T, row func(*testing.T)) { row(t) }
	}
	row := func(name string, change func(e Ends)) {
		t.Run(name, func(t *testing.T) {
			c.Around(t, func(t *testing.T) {
				e := c.New()
				change(e)
				c.calls(t, e)
			})
		})
	}
	row("defaults", func(Ends) {})
	ours := fields(c.New().Client...)
	for i, f := range slices.Concat(ours, fields(c.New().Server...)) {
		if f.values == nil {
			t.Errorf("%s has no row: write its extremes into internal/pairs/values.go", f.name)
		}
		for _, v := range f.values {
			if slices.Contains(c.Skip, f.name) || c.Few && (i+len(t.Name()))%10 != 0 {
				continue
			}
			side := "client"
			if i >= len(ours) {
				side = "server"
			}
			row(fmt.Sprintf("%s/%s=%d", side, f.name, v), func(e Ends) {
				ends := e.Client
				if side == "server" {
					ends = e.Server
				}
				reflect.ValueOf(ends[f.config]).Elem().FieldByIndex(f.index).SetInt(v)
			})
		}
	}
}

// field is a field of a Config with its extremes.
type field struct {
	config int // which of the Configs
	name   string
	index  []int
	values []int64
}

// fields returns the numbers and times in Configs, and in the structs that they have by value.
func fields(configs ...any) (all []field) {
	values := Values()
	var add func(config int, typ reflect.Type, prefix string, index []int)
	add = func(config int, typ reflect.Type, prefix string, index []int) {
		for _, f := range reflect.VisibleFields(typ) {
			name, at := prefix+"."+f.Name, slices.Concat(index, f.Index)
			switch {
			case f.Type == reflect.TypeFor[tcp.TLSMode](): // no number
			case f.Type.Kind() == reflect.Int, f.Type.Kind() == reflect.Int64:
				all = append(all, field{config, name, at, values[name]})
			case f.Type.Kind() == reflect.Struct && f.IsExported():
				add(config, f.Type, name, at)
			}
		}
	}
	for i, c := range configs {
		typ := reflect.TypeOf(c).Elem()
		add(i, typ, typ.String(), nil)
	}
	return all
}

// Names returns the names of the numbers and times in Configs, as Values has them, and in the
// structs within.
func Names(configs ...any) map[string]bool {
	names := make(map[string]bool)
	for _, f := range fields(configs...) {
		names[f.name] = true
	}
	return names
}

// calls makes Calls at once, and every second one calls back. It checks that each was executed
// once, and that no connection was lost.
func (c *Carrier) calls(t *testing.T, e Ends) {
	executed, called := make([]atomic.Int32, c.Calls), make([]atomic.Int32, c.Calls)
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, n *oncrpc.Uint32, _ *oncrpc.Void) error {
		executed[*n].Add(1)
		time.Sleep(c.Pause)
		return nil
	})
	rpc.Handle(svc, 2, func(r *rpc.Request, n *oncrpc.Uint32, _ *oncrpc.Void) error {
		executed[*n].Add(1)
		r.Conn().AllowReverse()
		return rpc.NewClient(r.Conn(), program, nil).Call(r.Context(), 1, n, &oncrpc.Void{}, nil)
	})
	svc.MaxReply(1 << 10)
	reverse := rpc.NewService(program)
	rpc.Handle(reverse, 1, func(_ *rpc.Request, n *oncrpc.Uint32, _ *oncrpc.Void) error {
		called[*n].Add(1)
		time.Sleep(c.Pause)
		return nil
	})
	carrier, counts := c.Open(t, e, rpc.NewHandler(nil, svc), rpc.NewHandler(nil, reverse))
	client := rpc.NewClient(carrier, program, nil)
	call := func(i int) {
		proc, n := uint32(1), oncrpc.Uint32(i)
		if i%2 == 1 && !c.OneWay {
			proc = 2
		}
		if err := client.Call(context.Background(), proc, &n, &oncrpc.Void{}, nil); err != nil {
			t.Errorf("Call %d of procedure %d: %v", i, proc, err)
		}
	}
	var all sync.WaitGroup
	for i := 1; i < c.Calls; i++ {
		all.Go(func() { call(i) })
	}
	if c.Pause > 0 {
		all.Wait()
		time.Sleep(2 * c.Pause)
	}
	call(0)
	all.Wait()
	for i := range c.Calls {
		want := int32(i % 2)
		if c.OneWay {
			want = 0
		}
		if n, back := executed[i].Load(), called[i].Load(); n != 1 || back != want {
			t.Errorf("Call %d was executed %d times, want once, and called back %d times, want %d", i, n, back, want)
		}
	}
	if n := counts(); n != (Counts{}) {
		t.Errorf("%+v: a connection was lost, or a Call sent again", n)
	}
}
