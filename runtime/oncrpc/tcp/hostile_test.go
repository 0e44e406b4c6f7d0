package tcp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// program is served by newService: procedure 1 answers with twice its argument, and procedure 2
// waits until the connection is closed. Procedure 3 needs an AUTH_SYS credential.
var program = oncrpc.Program{Number: 400001, Version: 3}

func newService() *rpc.Handler {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	rpc.Handle(svc, 2, func(r *rpc.Request, _, _ *oncrpc.Void) error {
		<-r.Context().Done()
		return rpc.ErrDrop
	})
	rpc.Handle(svc, 3, func(r *rpc.Request, _, _ *oncrpc.Void) error {
		_, err := r.AuthSys()
		return err
	})
	return rpc.NewHandler(nil, svc)
}

// xidOf returns the XID of a Request.
func xidOf(r *oncrpc.Request) uint32 { return wordAt(r.Message, 0) }

func wordAt(b []byte, at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }

// double calls procedure 1.
func double(t testing.TB, c oncrpc.Carrier) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
	if err := rpc.NewClient(c, program, nil).Call(ctx, 1, &args, &res, nil); err != nil || res != 42 {
		t.Errorf("twice 21 is %d, %v", res, err)
	}
}

// raw connects without the package.
func raw(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// record returns a record of words.
func record(words ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, 1<<31|uint32(4*len(words)))
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// goodCall calls procedure 1 with 21.
func goodCall(xid uint32) []byte { return record(xid, 0, 2, 400001, 3, 1, 0, 0, 0, 0, 21) }

// goodReply is its answer.
func goodReply(xid uint32) []byte { return record(xid, 1, 0, 0, 0, 0, 42) }

// Calls that cannot be executed get the answer that RFC 5531 §9 has for them, and the connection
// stays up.
func TestRefusedCalls(t *testing.T) {
	s := listen(t, newService(), nil)
	cred := func(n int) []uint32 { // an AUTH_SYS credential of n bytes
		return append([]uint32{9, 0, 2, 400001, 3, 1, 1, uint32(n)}, make([]uint32, (n+3)/4+2)...)
	}
	for name, tt := range map[string]struct{ call, want []byte }{
		"another program":           {record(9, 0, 2, 400002, 3, 1, 0, 0, 0, 0), record(9, 1, 0, 0, 0, 1)},
		"another version":           {record(9, 0, 2, 400001, 4, 1, 0, 0, 0, 0), record(9, 1, 0, 0, 0, 2, 3, 3)},
		"another procedure":         {record(9, 0, 2, 400001, 3, 7, 0, 0, 0, 0), record(9, 1, 0, 0, 0, 3)},
		"no argument":               {record(9, 0, 2, 400001, 3, 1, 0, 0, 0, 0), record(9, 1, 0, 0, 0, 4)},
		"bytes behind the argument": {record(9, 0, 2, 400001, 3, 1, 0, 0, 0, 0, 21, 0), record(9, 1, 0, 0, 0, 4)},
		"RPC version 3":             {record(9, 0, 3, 400001, 3, 1, 0, 0, 0, 0, 21), record(9, 1, 1, 0, 2, 2)},
		// AUTH_SYS has 340 bytes at most.
		"a credential of 400 bytes": {record(append(cred(400), 21)...), record(9, 1, 1, 1, 1)},
		"a credential of 401 bytes": {record(append(cred(401), 21)...), record(9, 1, 0, 0, 0, 4)},
		"AUTH_DH":                   {record(9, 0, 2, 400001, 3, 1, 3, 0, 0, 0, 21), record(9, 1, 1, 1, 5)},
		"only the XID and type":     {record(9, 0), record(9, 1, 0, 0, 0, 4)},
	} {
		c := raw(t, s.Addr())
		if _, err := c.Write(append(tt.call, goodCall(10)...)); err != nil {
			t.Fatal(err)
		}
		// The two handlers run at the same time, so either answer may come first.
		got, other := make([]byte, len(tt.want)+len(goodReply(10))), append(goodReply(10), tt.want...)
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, append(tt.want, goodReply(10)...)) && !bytes.Equal(got, other) {
			t.Errorf("%s: found %x, %v; want %x", name, got, err, tt.want)
		}
	}
}

// A stream without records of RPC messages loses its connection. Other connections stay up, and
// nothing is kept. The rest of a record over a limit is passed over, which the client cuts off.
func TestHostileStreams(t *testing.T) {
	s := listen(t, newService(), &tcp.Config{Logger: quiet, MaxFragments: 100, MaxRecord: 1 << 20})
	honest := dial(t, s.Addr(), nil)
	double(t, honest)
	for name, stream := range map[string][]byte{
		"a mark of 2 GiB":         {0xff, 0xff, 0xff, 0xff},
		"a fragment too long":     {0, 0x10, 0, 1},
		"endless empty fragments": make([]byte, 1<<20),
		"an empty record":         record(),
		"a record of a word":      record(7),
		"no message type":         record(7, 2),
		"text":                    []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	} {
		c := raw(t, s.Addr())
		_, _ = c.Write(stream) // may fail half way
		if name == "a fragment too long" || name == "endless empty fragments" {
			_ = c.(*net.TCPConn).CloseWrite()
		}
		// A reset, if the server left bytes unread.
		if b, err := io.ReadAll(c); len(b) > 0 || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: found %x, %v", name, b, err)
		}
		double(t, honest)
	}
	call := goodCall(3)
	for n := range len(call) {
		c := raw(t, s.Addr())
		if _, err := c.Write(call[:n]); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
			t.Errorf("%d bytes of a Call: found %x, %v", n, b, err)
		}
	}
	double(t, honest)
	waitFor(t, func() bool { st := s.Stats(); return st.Conns == 1 && st.Memory == 0 })
}

// waitFor waits until a condition holds.
func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// Replies to no Call are dropped and counted. Calls to a client without a handler get PROG_UNAVAIL,
// or RPC_MISMATCH if they have another RPC version (RFC 5531 §9). The reply to a cancelled Call
// answers no other, and its XID cannot be used until it has come.
func TestStrayMessages(t *testing.T) {
	ours, theirs := net.Pipe()
	c := tcp.NewConn(ours, &tcp.Config{NoCancel: true})
	defer c.Close()
	defer theirs.Close()
	read := func(n int) {
		if _, err := io.ReadFull(theirs, make([]byte, n)); err != nil {
			t.Error(err)
		}
	}
	write := func(b []byte) {
		if _, err := theirs.Write(b); err != nil {
			t.Error(err)
		}
	}
	call := func(xid uint32) *oncrpc.Call {
		return &oncrpc.Call{Message: oncrpc.Message{Inline: goodCall(xid)[4:]}}
	}
	write(goodReply(1))
	for _, tt := range []struct {
		version uint32
		answer  []uint32
	}{
		{2, []uint32{0, 0, 0, 1}}, // PROG_UNAVAIL
		{3, []uint32{1, 0, 2, 2}}, // RPC_MISMATCH
	} {
		b := goodCall(2)
		binary.BigEndian.PutUint32(b[12:], tt.version)
		write(b)
		want := record(append([]uint32{2, 1}, tt.answer...)...)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(theirs, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("RPC version %d: %x, %v, want %x", tt.version, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { read(48); cancel() }()
	if _, err := c.Call(ctx, call(3)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := c.Call(context.Background(), call(3)); !errors.Is(err, oncrpc.ErrXIDInUse) {
		t.Error(err)
	}
	go func() {
		read(48)
		write(goodReply(3))
		write(goodReply(5))
		write(record(4, 1, 0, 0, 0, 0, 43))
	}()
	reply, err := c.Call(context.Background(), call(4))
	if err != nil || !bytes.Equal(reply.Message, record(4, 1, 0, 0, 0, 0, 43)[4:]) {
		t.Errorf("%v, %v", reply, err)
	}
	if st := c.Stats(); st.StrayReplies != 2 || st.DroppedCalls != 0 {
		t.Errorf("%+v", st)
	}
	go func() { read(48); write(goodReply(3)) }()
	if _, err := c.Call(context.Background(), call(3)); err != nil {
		t.Errorf("after the late reply: %v", err)
	}
}

// Marks without data take no memory.
func TestIdleMemory(t *testing.T) {
	s := listen(t, newService(), nil)
	honest := dial(t, s.Addr(), nil)
	before := memory()
	const conns = 100
	for range conns {
		if _, err := raw(t, s.Addr()).Write([]byte{0x80, 0xff, 0xff, 0xff}); err != nil { // 16 MiB
			t.Fatal(err)
		}
	}
	double(t, honest)
	waitFor(t, func() bool { return s.Stats().Conns == conns+1 })
	double(t, honest)
	if n := (memory() - before) / conns; n > 200<<10 {
		t.Errorf("%d bytes for each mark", n)
	}
}

func memory() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The server and the client survive any bytes.
//
//fuzz:floor 150 each execution has two connections, with their goroutines
func FuzzConn(f *testing.F) {
	f.Add(goodCall(1))
	f.Add(append(goodReply(1), goodCall(2)...))
	f.Add([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	h := newService()
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, serve := range []bool{true, false} {
			ours, theirs := net.Pipe()
			cfg := &tcp.Config{Logger: quiet, MaxRecord: 1000, ReverseHandler: h}
			c := tcp.NewConn(ours, cfg)
			if serve {
				_ = c.Close()
				ours, theirs = net.Pipe()
				c = tcp.ServeConn(ours, h, cfg)
			}
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_, _ = theirs.Write(b)
			_ = theirs.Close()
			<-c.Done()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
