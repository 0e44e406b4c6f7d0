package record

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// A record that Write wrote is read back, and each fault of a record is refused with its rule.
func TestRecord(t *testing.T) {
	for _, msg := range [][]byte{nil, []byte("a message"), bytes.Repeat([]byte{7}, 100_000)} {
		var b bytes.Buffer
		if err := Write(&b, msg); err != nil {
			t.Fatal(err)
		}
		got, err := Read(&b, len(msg))
		if err != nil || !bytes.Equal(got, msg) || b.Len() != 0 {
			t.Errorf("%d bytes: found %d, %v, and %d after them", len(msg), len(got), err, b.Len())
		}
	}
	for _, c := range []struct {
		name, stream, want string
		most               int
	}{
		{"two fragments", "00000002 6869 80000001 21", "", 3},
		{"an empty last fragment", "00000001 68 80000000", "", 1},
		{"one byte too many", "00000002 6869 80000002 2121", "record of more than 3 bytes: 2, and 2 in the next fragment (RFC 5531 §11)", 3},
		{"2 GiB", "ffffffff", "record of more than 262144 bytes: 0, and 2147483647 in the next fragment", defaultMaxReply},
		{"nothing, and not the last", "00000000 80000001 21", "empty fragment after 0 bytes", 3},
		{"no mark", "", "record mark: EOF", 3},
		{"half a mark", "8000", "record mark: unexpected EOF", 3},
		{"half a fragment", "80000003 6869", "fragment of 3 bytes: EOF", 3},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.stream, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Read(bytes.NewReader(b), c.most); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
}

// server answers each record with the next of answers, which gets the call's XID.
func server(t *testing.T, answers ...func(xid []byte) []byte) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer theirs.Close()
		for _, answer := range answers {
			call, err := Read(theirs, 1000)
			if err != nil || Write(theirs, answer(call[:4])) != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, theirs)
	}()
	t.Cleanup(func() { ours.Close(); <-done })
	return ours
}

// accepted is a successful reply with a result of one word.
func accepted(word byte) func([]byte) []byte {
	return func(xid []byte) []byte { return append(bytes.Clone(xid), []byte{3: 1, 23: word}[:24]...) }
}

// A refusal leaves the stream in use; a reply that answers nothing does not.
func TestCall(t *testing.T) {
	ctx := context.Background()
	c := NewClient(server(t,
		func(xid []byte) []byte { return append(bytes.Clone(xid), []byte{3: 1, 19: 1}...) }, // PROG_UNAVAIL
		accepted(9),
		func([]byte) []byte { return accepted(9)([]byte{9, 9, 9, 9}) },
	), nil)
	var got oncrpc.Uint32
	if err := c.Call(ctx, 1, 1, 1, nil, &got); !errors.Is(err, oncrpc.ErrProgUnavail) {
		t.Errorf("refused: %v", err)
	}
	arg := oncrpc.Uint32(7)
	if err := c.Call(ctx, 1, 1, 1, &arg, &got); err != nil || got != 9 {
		t.Errorf("found %d, %v", got, err)
	}
	if err := c.Call(ctx, 1, 1, 1, &arg, &got); err == nil || errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "XID") {
		t.Errorf("another XID: %v", err)
	}
	if err := c.Call(ctx, 1, 1, 1, &arg, &got); !errors.Is(err, ErrBroken) {
		t.Errorf("after it: %v", err)
	}
	// Bytes after the result break the stream as well.
	c = NewClient(server(t, accepted(9), accepted(9)), nil)
	if err := c.Call(ctx, 1, 1, 0, nil, nil); err == nil || !errors.Is(c.Call(ctx, 1, 1, 0, nil, nil), ErrBroken) {
		t.Errorf("a result where none is expected: %v", err)
	}
}

// A call ends with its context, also while the server is silent.
func TestCallCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	c := NewClient(server(t), nil)
	if err := c.Call(ctx, 1, 1, 0, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := c.Call(context.Background(), 1, 1, 0, nil, nil); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}

// A mark takes no memory before the bytes of its fragment arrive.
func TestRecordMemory(t *testing.T) {
	mark := []byte{0x80, 0x03, 0xff, 0xff}
	before, after := new(runtime.MemStats), new(runtime.MemStats)
	runtime.ReadMemStats(before)
	for range 100 {
		if _, err := Read(bytes.NewReader(mark), defaultMaxReply); err == nil {
			t.Fatal("a record was read")
		}
	}
	runtime.ReadMemStats(after)
	if n := (after.TotalAlloc - before.TotalAlloc) / 100; n > 4096 {
		t.Errorf("%d bytes for a mark without data", n)
	}
}

// Reading any stream gives an error, or a record that is not longer than the limit and the stream.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0x80, 0, 0, 4, 1, 2, 3, 4})
	f.Add([]byte{0, 0, 0, 1, 7, 0x80, 0, 0, 1, 8})
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Read(bytes.NewReader(b), 1000)
		if err == nil && (len(got) > 1000 || len(got) > len(b)-markSize) {
			t.Errorf("%d bytes of %d", len(got), len(b))
		}
	})
}
