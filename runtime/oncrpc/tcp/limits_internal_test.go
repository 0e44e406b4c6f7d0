package tcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }

// Memory of a record has room for it, and at most twice as much, whatever earlier records left.
func TestMemoryForFits(t *testing.T) {
	for range 100 { // a sync.Pool need not return what it has
		for _, left := range []int{firstSize, firstSize + 1, 100 << 10, 1<<20 - 1, 4 << 20} {
			keep(make([]byte, 0, left))
		}
		for _, n := range []int{1, firstSize - 1, firstSize, firstSize + 1, 65 << 10, 200 << 10, 1 << 20, 4 << 20, 4<<20 + 1} {
			b := memoryFor(n)
			if len(b) != 0 || cap(b) < n || cap(b) > 2*n {
				t.Fatalf("memory for %d bytes has %d of %d", n, len(b), cap(b))
			}
		}
	}
}

// Memory of firstSize and more is kept, up to the default of Config.MaxRecord and beyond.
func TestKeepBounds(t *testing.T) {
	largest := new(Config).settle().MaxRecord
	if largest < oncrpc.DefaultMaxMessage {
		t.Errorf("MaxRecord is %d, want at least the data of a message, %d", largest, oncrpc.DefaultMaxMessage)
	}
	for _, size := range []int{firstSize - 1, firstSize, firstSize + 1, 4<<20 + 1, largest, 2 * largest} {
		kept := false
		for tries := 0; tries < 100 && !kept; tries++ { // a sync.Pool need not return what it has
			keep(make([]byte, 0, size))
			got, ok := long[class(size)].Get().(*[]byte)
			kept = kept || ok && cap(*got) == size
		}
		if kept != (size >= firstSize) {
			t.Errorf("memory of %d bytes was kept: %v", size, kept)
		}
	}
	if first, last := class(firstSize), class(math.MaxInt32); first != 0 || last != len(long)-1 || class(firstSize+1) != 1 {
		t.Errorf("classes %d to %d, want 0 to %d", first, last, len(long)-1)
	}
}

// Memory that no record uses goes to the garbage collector.
func TestIdleMemoryIsFreed(t *testing.T) {
	const size = 5<<20 + 1 // of no other test
	freed := make(chan bool, 1)
	func() {
		b := make([]byte, 0, size)
		runtime.AddCleanup(&b[:1][0], func(int) { freed <- true }, 0)
		keep(b)
	}()
	for limit := time.Now().Add(10 * time.Second); len(freed) == 0; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(limit) {
			t.Fatal("the memory was not freed")
		}
	}
}

// reader returns records that are read from b, and the sizes by which their memory grew.
func reader(b []byte, maxSize, maxFragments int) (*records, *[]int) {
	var grown []int
	return &records{
		r: input{src: bytes.NewReader(b)}, maxSize: maxSize, maxFragments: maxFragments,
		deadline: func(time.Time) {},
		grow: func(n int, _ bool) error {
			if n <= 0 {
				return fmt.Errorf("the memory grows by %d bytes", n) // it would do so again
			}
			grown = append(grown, n)
			return nil
		},
	}, &grown
}

func fragment(n int, last bool) []byte {
	b := appendMark(nil, n)
	if !last {
		b[0] &^= 0x80
	}
	return append(b, make([]byte, n)...)
}

// The limits on a record are exact: as many bytes and fragments as allowed are a record.
func TestRecordLimits(t *testing.T) {
	for _, tt := range []struct {
		name      string
		stream    []byte
		fragments int
		want      error
	}{
		{"the longest", fragment(100, true), 1, nil},
		{"a byte more", fragment(101, true), 1, ErrRecord},
		{"the longest in two", append(fragment(60, false), fragment(40, true)...), 2, nil},
		{"a byte more in two", append(fragment(60, false), fragment(41, true)...), 2, ErrRecord},
		{"a fragment more", append(fragment(60, false), fragment(40, true)...), 1, ErrRecord},
		{"an empty last fragment", append(fragment(100, false), fragment(0, true)...), 2, nil},
		{"the end behind a mark", fragment(100, true)[:4], 1, io.ErrUnexpectedEOF},
		{"the end in a mark", fragment(100, true)[:3], 1, io.ErrUnexpectedEOF},
		{"the end behind a fragment", fragment(60, false), 2, io.ErrUnexpectedEOF},
		{"the end", nil, 1, io.EOF},
	} {
		rd, _ := reader(tt.stream, 100, tt.fragments)
		got, err := rd.next(nil)
		if !errors.Is(err, tt.want) || tt.want == nil && (err != nil || len(got) != 100) {
			t.Errorf("%s: %d bytes, %v, want %v", tt.name, len(got), err, tt.want)
		}
	}
}

// A record that is in the read buffer sets no deadline: each would be a call of the runtime.
func TestBufferedRecordSetsNoDeadline(t *testing.T) {
	rd, _ := reader(append(fragment(40, true), fragment(40, true)...), 100, 1)
	deadlines := 0
	rd.timeout, rd.deadline = time.Minute, func(time.Time) { deadlines++ }
	for range 2 {
		if _, err := rd.next(make([]byte, 0, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if deadlines != 0 {
		t.Errorf("%d deadlines were set or removed", deadlines)
	}
}

// The memory of a record follows the bytes that have come.
func TestRecordMemoryFollowsBytes(t *testing.T) {
	const size = 4 << 20
	rd, grown := reader(append(appendMark(nil, size), make([]byte, firstSize)...), size, 1)
	if _, err := rd.next(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	total := 0
	for i, n := range *grown {
		if total += n; i == 0 && n != firstSize || total > 2*growth*firstSize {
			t.Errorf("the memory grew by %v", *grown)
		}
	}
	if len(*grown) != 2 {
		t.Errorf("the memory grew by %v", *grown)
	}
	// A connection that has brought a long record has memory for the next one at once.
	rd, grown = reader(append(fragment(size, true), fragment(size, true)...), size, 1)
	for range 2 {
		*grown = nil
		if _, err := rd.next(nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(*grown) != 1 {
		t.Errorf("the memory of a second record grew by %v", *grown)
	}
	rd.grow = func(int, bool) error { return net.ErrClosed }
	rd.r.src = (bytes.NewReader(fragment(size, true)))
	if _, err := rd.next(nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("without room: %v", err)
	}
}

// The memory of a record that grows is left to later records.
func TestRecordThatGrowsLeavesItsMemory(t *testing.T) {
	const first = firstSize + 77 // of no other test
	for range 100 {              // a sync.Pool need not return what it has
		rd, _ := reader(fragment(3*firstSize, true), 3*firstSize, 1)
		if _, err := rd.next(make([]byte, 0, first)); err != nil {
			t.Fatal(err)
		}
		for {
			switch b, ok := long[class(first)].Get().(*[]byte); {
			case ok && cap(*b) == first:
				return
			case ok:
				continue
			}
			break
		}
	}
	t.Error("the first memory is lost")
}

// The memory of a record with short fragments doubles, so that its bytes are copied a few times
// and not for each fragment.
func TestRecordOfManyFragmentsIsCopiedSeldom(t *testing.T) {
	const fragments, size = 4096, 1 << 10
	b := bytes.Repeat(fragment(size, false), fragments-1)
	rd, grown := reader(append(b, fragment(size, true)...), fragments*size, fragments)
	rec, err := rd.next(nil)
	if err != nil || len(rec) != fragments*size {
		t.Fatalf("a record of %d bytes, %v", len(rec), err)
	}
	if len(*grown) > 16 || cap(rec) > 2*len(rec) {
		t.Errorf("memory of %d bytes for %d, after %d steps", cap(rec), len(rec), len(*grown))
	}
}

// An xidSet remembers the last mostAbandoned XIDs at least, and twice as many at most.
func TestXIDSetForgetsTheOldest(t *testing.T) {
	var s xidSet
	for xid := range uint32(10 * mostAbandoned) {
		s.add(xid)
		if n := len(s.recent) + len(s.older); n > 2*mostAbandoned {
			t.Fatalf("%d XIDs", n)
		}
		if old := xid - mostAbandoned + 1; xid >= mostAbandoned && (!s.has(old) || !s.has(xid)) {
			t.Fatalf("%d or %d is forgotten", old, xid)
		}
	}
	const last = 10*mostAbandoned - 1
	for _, xid := range []uint32{last, last - mostAbandoned} {
		if !s.remove(xid) || s.has(xid) || s.remove(xid) {
			t.Errorf("%d cannot be removed once", xid)
		}
	}
	if s.has(0) || s.remove(1) {
		t.Error("the first XIDs are remembered")
	}
}

// A server whose longest record may wait as long as others have Requests logs that, and limits
// records to the size that a source may have. By default neither happens.
func TestRecordsFitIntoMaxMemory(t *testing.T) {
	const record = 1 << 20
	for _, tt := range []struct {
		memory, record int
		limit          int
		logs           bool
	}{
		{0, 0, oncrpc.DefaultMaxMessage + 64<<10, false},
		{12 * record, record, record, false},
		{12*record - 12, record, record, true},
		{6 * record, record, record, true},
		{6*record - 6, record, record - 1, true},
		{-1, record, record, false},
	} {
		var log strings.Builder
		set := (&Config{MaxMemory: tt.memory, MaxRecord: tt.record, Logger: slog.New(slog.NewTextHandler(&log, nil))}).settle()
		if set.fit(); set.MaxRecord != tt.limit || (log.Len() > 0) != tt.logs {
			t.Errorf("%+v: records are limited to %d bytes, log %q", tt, set.MaxRecord, &log)
		}
	}
}

// A connection without messages has little memory for records. Its first record gets the memory
// that those after it have.
func TestSilentConnectionHasLittleForRecords(t *testing.T) {
	near, far := net.Pipe()
	c := NewConn(near, nil)
	if n := cap(*c.record); n > headSize {
		t.Errorf("a silent connection has %d bytes for records", n)
	}
	if n := reflect.TypeFor[Conn]().Size(); n > 1792 { // the next size of Go's memory is 2048
		t.Errorf("a connection is %d bytes", n)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := Dial(t.Context(), ln.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := cap(*socket.record); socketReads && n != 0 {
		t.Errorf("a silent socket has %d bytes for records", n)
	}
	if err := errors.Join(c.Close(), far.Close(), socket.Close(), ln.Close()); err != nil {
		t.Error(err)
	}
	rd, _ := reader(append(appendMark(nil, 4), "abcd"...), 1<<20, 1)
	rd.memory = newMemory
	if rec, err := rd.next(nil); string(rec) != "abcd" || err != nil || cap(rec) < 512 {
		t.Errorf("the first record is %q with room for %d bytes, %v", rec, cap(rec), err)
	}
}
