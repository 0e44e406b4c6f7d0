package tcp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A Call or a reply over the limit fails alone: it is made once, and other Calls of the
// connection are executed once.
func TestMessageOverTheLimitFailsAlone(t *testing.T) {
	const limit = 100 << 10
	for _, tt := range []struct {
		name     string
		call     int // bytes of arguments
		reply    int
		want     error
		executed int32
	}{
		{"call", 2 * limit, 0, nil, 0},
		{"reply", 4, 2 * limit, tcp.ErrRecord, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var long, short atomic.Int32
			h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				xid, _, _ := oncrpc.Peek(r.Message)
				b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
				if _, _, proc, _ := oncrpc.Procedure(r.Message); proc == 7 {
					long.Add(1)
					b = append(b, make([]byte, tt.reply)...)
				} else {
					short.Add(1)
				}
				r.Reply(oncrpc.Message{Inline: b}, nil)
			})
			s := listen(t, h, &tcp.Config{MaxRecord: limit, MaxReply: 4 * limit, Logger: slog.New(slog.DiscardHandler)})
			c, err := tcp.NewClient(s.Addr(), &tcp.ClientConfig{Conn: &tcp.Config{MaxRecord: limit}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			make7 := func(proc uint32, n int) (*oncrpc.Reply, error) {
				b, _ := oncrpc.NewCall(c.XID(), 9, 1, proc, oncrpc.None()).AppendBinary(nil)
				return c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: append(b, make([]byte, n)...)}})
			}
			const neighbours, calls = 20, 10
			errs := make(chan error, neighbours)
			for range neighbours {
				go func() {
					var failed error
					for range calls {
						_, err := make7(1, 4)
						failed = errors.Join(failed, err)
					}
					errs <- failed
				}()
			}
			for range 5 {
				reply, err := make7(7, tt.call)
				if tt.want != nil {
					var ce *oncrpc.CallError
					if !errors.Is(err, tt.want) || !errors.As(err, &ce) || !ce.MayHaveRun {
						t.Errorf("%v, want %v of a Call that may have run", err, tt.want)
					}
					continue
				}
				var head oncrpc.Header
				if err != nil {
					t.Error(err)
				} else if err := head.UnmarshalBinary(reply.Message); err != nil || head.Body.Reply.Accepted.Data.Stat != oncrpc.GarbageArgs {
					t.Errorf("%v, %+v", err, head)
				}
			}
			for range neighbours {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if long.Load() != 5*tt.executed || short.Load() != neighbours*calls {
				t.Errorf("executed %d and %d times, want %d and %d", long.Load(), short.Load(), 5*tt.executed, neighbours*calls)
			}
			if st := c.Stats(); st.Connects != 1 || st.Lost != 0 || st.Retransmissions != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// served returns our end of a connection to a server whose Calls are doubled.
func served(t *testing.T, cfg *tcp.Config) (net.Conn, *tcp.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	cfg.Logger = slog.New(slog.DiscardHandler)
	s := tcp.ServeConn(theirs, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		b, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: b}, nil)
	}), cfg)
	t.Cleanup(func() {
		_ = ours.Close()
		_ = s.Close()
	})
	return ours, s
}

// fragment returns a fragment.
func fragmentOf(b []byte, last bool) []byte {
	word := uint32(len(b))
	if last {
		word |= 1 << 31
	}
	return append(binary.BigEndian.AppendUint32(nil, word), b...)
}

// answerTo reads a reply, and returns its XID and status.
func answerTo(t *testing.T, nc net.Conn) (uint32, oncrpc.AcceptStat) {
	t.Helper()
	b := make([]byte, 28)
	if _, err := io.ReadFull(nc, b); err != nil {
		t.Fatal(err)
	}
	var head oncrpc.Header
	if err := head.UnmarshalBinary(b[4:]); err != nil {
		t.Fatal(err)
	}
	return head.XID, head.Body.Reply.Accepted.Data.Stat
}

// However its fragments divide a record, one over the limit is refused by its XID, and the record
// after it is served.
func TestFragmentsOverTheLimitArePassedOver(t *testing.T) {
	call := func(xid uint32, n int) []byte {
		b, _ := oncrpc.NewCall(xid, 9, 1, 1, oncrpc.None()).AppendBinary(nil)
		return append(b, make([]byte, n)...)
	}
	b := call(5, 2000)
	several := func(sizes ...int) (stream []byte) {
		rest := b
		for _, n := range sizes {
			stream = append(stream, fragmentOf(rest[:n], false)...)
			rest = rest[n:]
		}
		return append(stream, fragmentOf(rest, true)...)
	}
	empty := bytes.Repeat(fragmentOf(nil, false), 300)
	for name, stream := range map[string][]byte{
		"one":                    several(),
		"the limit, and more":    several(1000),
		"a part of the XID":      several(1, 2, 3),
		"an empty one first":     several(0, 500, 500),
		"too many fragments":     append(append(fragmentOf(call(5, 0), false), empty...), fragmentOf(nil, true)...),
		"too many, then too far": append(append(fragmentOf(b[:100], false), empty...), fragmentOf(b[100:], true)...),
		"empty ones at the end":  append(append(several(), fragmentOf(call(5, 1000), false)...), append(bytes.Repeat(fragmentOf(nil, false), 100), fragmentOf(nil, true)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			nc, s := served(t, &tcp.Config{MaxRecord: 1000, MaxFragments: 64})
			go func() { _, _ = nc.Write(append(bytes.Clone(stream), fragmentOf(call(6, 4), true)...)) }()
			for xid := uint32(0); xid != 6; {
				got, stat := answerTo(t, nc)
				xid = got
				if want := map[uint32]oncrpc.AcceptStat{5: oncrpc.GarbageArgs, 6: oncrpc.Success}[xid]; stat != want {
					t.Errorf("XID %d: %v, want %v", xid, stat, want)
				}
			}
			if s.Err() != nil {
				t.Error(s.Err())
			}
		})
	}
}

// A record over the limit takes no memory, whatever its length.
func TestPassedOverRecordTakesNoMemory(t *testing.T) {
	nc, _ := served(t, &tcp.Config{MaxRecord: 1000, RecordTimeout: -1})
	call, _ := oncrpc.NewCall(5, 9, 1, 1, oncrpc.None()).AppendBinary(nil)
	const size = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		_, _ = nc.Write(binary.BigEndian.AppendUint32(nil, 1<<31|size))
		_, _ = nc.Write(call)
		chunk := make([]byte, 64<<10)
		for left := size - len(call); left > 0; left -= len(chunk) {
			chunk = chunk[:min(left, len(chunk))]
			_, _ = nc.Write(chunk)
		}
	}()
	if xid, stat := answerTo(t, nc); xid != 5 || stat != oncrpc.GarbageArgs {
		t.Errorf("XID %d: %v", xid, stat)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated for a record of %d", n, size)
	}
}

// A record over the limit that is too long or no RPC message closes the connection at once, and one
// that does not end closes it after ten times RecordTimeout.
func TestEndlessRecordClosesTheConnection(t *testing.T) {
	head, _ := oncrpc.NewCall(5, 9, 1, 1, oncrpc.None()).AppendBinary(nil)
	for _, tt := range []struct {
		name   string
		first  []byte
		repeat []byte // each half second
		want   error
		after  time.Duration
	}{
		{"more than 1 GiB", append([]byte{0xc0, 0, 0, 0}, head...), nil, tcp.ErrRecord, 0},
		{"more than 1 GiB in two", append(append([]byte{0, 0, 16, 0}, append(head, make([]byte, 4096-len(head))...)...), 0xbf, 0xff, 0xff, 0xff), nil, tcp.ErrRecord, 0},
		{"no RPC message", append([]byte{0x80, 16, 0, 0}, 1, 2, 3, 4, 5, 6, 7, 8, 9), nil, tcp.ErrNotRPC, 0},
		{"silent", append([]byte{0x80, 16, 0, 0}, head...), nil, tcp.ErrTimeout, time.Second},
		{"drops", append([]byte{0x80, 16, 0, 0}, head...), []byte("x"), tcp.ErrTimeout, time.Second},
		{"empty fragments", append([]byte{0, 0, 0, byte(len(head))}, append(bytes.Clone(head), 0, 0, 16, 0)...), nil, tcp.ErrTimeout, time.Second},
		{"empty fragments, fast enough", append([]byte{0, 0, 16, 0}, append(bytes.Clone(head), make([]byte, 4096-len(head))...)...), make([]byte, 64<<10), tcp.ErrTimeout, 10 * time.Second},
		{"fast enough, without end", append([]byte{0xa0, 0, 0, 0}, head...), make([]byte, 64<<10), tcp.ErrTimeout, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nc, s := served(t, &tcp.Config{MaxRecord: 1000, RecordTimeout: time.Second, FirstCallTimeout: -1})
				start, written := time.Now(), make(chan struct{})
				go func() {
					defer close(written)
					_, err := nc.Write(tt.first)
					for err == nil && tt.repeat != nil {
						time.Sleep(time.Second / 2)
						_, err = nc.Write(tt.repeat)
					}
				}()
				<-s.Done()
				defer func() { <-written }()
				if took := time.Since(start); !errors.Is(s.Err(), tt.want) || took < tt.after || took > tt.after+time.Second {
					t.Errorf("%v after %v, want %v after %v", s.Err(), took, tt.want, tt.after)
				}
			})
		})
	}
}
