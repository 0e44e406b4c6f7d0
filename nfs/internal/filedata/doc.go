// Package filedata reads and writes the data of a file on an NFS server, for all versions of NFS:
// with several READs or WRITEs in flight, without a goroutine for each. It keeps written data
// until COMMIT has returned the verifier of the WRITEs, and writes them again if it is another one.
package filedata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
)

// Op is a kind of call.
type Op int

// The calls that move data.
const (
	Read   Op = iota
	Write     // UNSTABLE: the data are kept for COMMIT
	Stored    // a WRITE with FILE_SYNC: after it the data are stored
)

// String returns the name of the procedure or operation.
func (o Op) String() string {
	if o == Read {
		return "READ"
	}
	return "WRITE"
}

// Verifier is a write verifier.
type Verifier = [8]byte

// Result is the result of a call.
type Result struct {
	N      int  // bytes read or written
	EOF    bool // of a READ: the file ends after them
	Stored bool // of a WRITE: the data are stored
	Verf   Verifier
	Err    error
}

// Call makes READs and WRITEs of a file, one at a time. It has the memory that they take.
type Call interface {
	// Do makes a call with all of p, and waits for it.
	Do(op Op, p []byte, off int64) Result

	// Submit makes a call, and does not wait for it. p belongs to the call until the function that
	// Calls.New was given has run. That is within Submit only if the call fails at once.
	Submit(op Op, p []byte, off int64)
}

// Inline is the size in bytes of a READ's data that the connection's goroutine copies. More bytes
// have a goroutine, since a connection reads nothing while its own one copies.
const Inline = 64 << 10

// Calls makes the calls of one file. Its methods are called concurrently.
type Calls interface {
	// New returns a Call. done gets the result of each Submit, on any goroutine. It does not block.
	New(done func(Result)) Call

	// Commit makes a COMMIT of the whole file. An error that matches errors.ErrUnsupported says
	// that the server lacks it.
	Commit() (Verifier, error)

	// Broken returns the error of a reply to an operation that breaks a rule. found has the value
	// in the reply, and the expected one.
	Broken(op, found string) error
}

// Config configures a File. All fields are set.
type Config struct {
	Ctx       context.Context // of all calls
	Name      string          // in errors
	Calls     Calls
	ReadSize  int          // the largest READ in bytes
	WriteSize int          // the largest WRITE in bytes
	Depth     int          // calls in flight
	Window    int          // bytes that are kept until COMMIT
	NoCommit  *atomic.Bool // the server lacks COMMIT; shared by the files of a server
}

// File is an open file. Its methods are safe for concurrent use; the writing ones run one at a
// time.
type File struct {
	cfg Config

	partsMu sync.Mutex
	parts   []*part // that are not in flight, at most cfg.Depth

	mu   sync.Mutex
	kept []extent // written and not committed
	size int64    // bytes in kept
	seen verifiers
}

// New returns a File.
func New(cfg Config) *File { return &File{cfg: cfg} }

// InRange returns an error unless off and n are a valid range of bytes.
func (f *File) InRange(op string, off, n int64) error {
	if off < 0 || n < 0 || off > math.MaxInt64-n {
		return fmt.Errorf("%s %q: found offset %d and %d bytes, expected a range from 0 to 2^63-1", op, f.cfg.Name, off, n)
	}
	return nil
}

// part is a range of bytes with one READ or WRITE in flight. While one is, all of it belongs to
// the call. A short READ or WRITE is followed by one of the rest.
type part struct {
	f    *File
	call Call
	to   receiver
	buf  []byte // memory for copies, or nil

	op    Op
	rest  []byte // not read or written so far
	off   int64  // of rest
	n     int    // bytes read or written
	block int64  // number of the part, for receiver
	eof   bool   // the file ended before
	ended bool   // receiver has it
	err   error
}

// receiver takes parts that are over. ended runs where Call's functions do, and does not block.
type receiver interface{ ended(x *part) }

// queue is a receiver for a goroutine, with room for all parts.
type queue chan *part

func (q queue) ended(x *part) { q <- x }

// get returns a part.
func (f *File) get(to receiver) *part {
	f.partsMu.Lock()
	defer f.partsMu.Unlock()
	if n := len(f.parts); n > 0 {
		x := f.parts[n-1]
		f.parts = f.parts[:n-1]
		x.to = to
		return x
	}
	x := &part{f: f, to: to}
	x.call = f.cfg.Calls.New(x.answered)
	return x
}

// put takes parts back.
func (f *File) put(list ...*part) {
	f.partsMu.Lock()
	defer f.partsMu.Unlock()
	for _, x := range list {
		if x.rest, x.to = nil, nil; len(f.parts) < f.cfg.Depth {
			f.parts = append(f.parts, x)
		}
	}
}

// forget drops the memory for copies of parts that are not in flight.
func (f *File) forget() {
	f.partsMu.Lock()
	defer f.partsMu.Unlock()
	for _, x := range f.parts {
		x.buf = nil
	}
}

// room returns n bytes of the part's own memory.
func (x *part) room(n int64) []byte {
	if int64(cap(x.buf)) < n {
		x.buf = make([]byte, n)
	}
	return x.buf[:n]
}

// set gives a part its bytes.
func (x *part) set(op Op, p []byte, off int64) {
	x.op, x.rest, x.off, x.n, x.eof, x.ended, x.err = op, p, off, 0, false, false, nil
}

// begin submits the first call of a part.
func (x *part) begin(op Op, p []byte, off int64) {
	x.set(op, p, off)
	x.call.Submit(op, p, off)
}

// answered takes the result of a call that was submitted.
func (x *part) answered(r Result) {
	if x.take(r) {
		x.call.Submit(x.op, x.rest, x.off)
		return
	}
	x.to.ended(x)
}

// run makes the calls of a part, and waits for them.
func (x *part) run(op Op, p []byte, off int64) {
	for x.set(op, p, off); x.take(x.call.Do(op, x.rest, x.off)); {
	}
}

// take takes a result. It reports whether another call must follow.
func (x *part) take(r Result) (more bool) {
	f, op := x.f, x.op.String()
	broken := func(found string, args ...any) error { return f.cfg.Calls.Broken(op, fmt.Sprintf(found, args...)) }
	switch {
	case r.Err != nil:
		x.err = r.Err
	case x.op == Read && r.N > len(x.rest):
		x.err = broken("%d bytes, expected at most the %d asked for", r.N, len(x.rest))
	case x.op == Read && r.N == 0 && !r.EOF:
		x.err = broken("no data before the end of the file, expected at least one byte")
	case x.op != Read && (r.N < 1 || r.N > len(x.rest)):
		x.err = broken("count %d, expected 1 to %d, the bytes sent", r.N, len(x.rest))
	case x.op == Stored && !r.Stored:
		x.err = broken("data that are not stored, expected FILE_SYNC, as the call asked for")
	default:
		if x.op != Read {
			f.seen.add(r.Verf)
		}
		x.rest, x.off, x.n, x.eof = x.rest[r.N:], x.off+int64(r.N), x.n+r.N, r.EOF && r.N < len(x.rest)
	}
	return x.err == nil && !x.eof && len(x.rest) > 0
}

// short returns the error of a file that ends early.
func (f *File) short(off int64) error {
	return fmt.Errorf("READ %q: the file ends at byte %d: %w", f.cfg.Name, off, io.ErrUnexpectedEOF)
}

// unsupported reports whether the server lacks an operation.
func unsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
