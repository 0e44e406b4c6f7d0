package codectest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing/iotest"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// stream checks EncodeTo and DecodeFrom, with the whole encoding, each prefix, changed words, and
// each limit.
func stream(t *Type, wire []byte) error {
	if t.Stream == nil {
		return nil
	}
	if err := writes(t, wire); err != nil {
		return fmt.Errorf("EncodeTo: %w", err)
	}
	step := 1 + len(wire)/most()
	for n := 0; n <= len(wire); n += step {
		if err := streamAgrees(t, wire[:n:n], readers); err != nil {
			return fmt.Errorf("the first %d bytes: %w", n, err)
		}
		if err := limited(t, wire, n); err != nil {
			return fmt.Errorf("limit %d: %w", n, err)
		}
		if err := broken(t, wire, n); err != nil {
			return fmt.Errorf("the reader fails after %d bytes: %w", n, err)
		}
	}
	if err := streamAgrees(t, append(wire[:len(wire):len(wire)], wire...), readers); err != nil {
		return fmt.Errorf("two values: %w", err)
	}
	in := bytes.Clone(wire)
	for off := 0; off+4 <= len(in); off += 4 * (1 + len(in)/(4*most())) {
		for _, word := range []uint32{0, 2, 0x7fffffff} {
			binary.BigEndian.PutUint32(in[off:], word)
			if err := streamAgrees(t, in, readers[:1]); err != nil {
				return fmt.Errorf("%#x at offset %d: %w", word, off, err)
			}
		}
		copy(in[off:], wire[off:off+4])
	}
	return nil
}

// pieces is a way to cut input into pieces.
type pieces struct {
	name string
	cut  func(io.Reader) io.Reader
}

var readers = []pieces{
	{"whole", func(r io.Reader) io.Reader { return r }},
	{"bytes", iotest.OneByteReader},
	{"end with data", iotest.DataErrReader}, // reads ahead
}

// streamAgrees compares DecodeFrom with DecodeXDR on any input: the value, the error, and the bytes
// read.
func streamAgrees(t *Type, in []byte, readers []pieces) error {
	v := t.New()
	d := xdr.NewDecoder(in, nil)
	want := v.DecodeXDR(d)
	for i, reader := range readers {
		w, left := t.New(), bytes.NewReader(in)
		err := t.Stream(w).DecodeFrom(reader.cut(left), -1)
		switch {
		case errors.Is(want, xdr.ErrMemory) || errors.Is(err, xdr.ErrMemory):
			continue // a budget depends on the bytes after the value
		case err == nil && want == nil:
			if i < 2 && len(in)-left.Len() != d.Offset() {
				return fmt.Errorf("reader %q: DecodeFrom reads %d bytes of a value with %d", reader.name, len(in)-left.Len(), d.Offset())
			}
			if err := same(w, in[:d.Offset()]); err != nil {
				return fmt.Errorf("reader %q: DecodeFrom: %w", reader.name, err)
			}
		case len(in) == 0 && err == io.EOF && errors.Is(want, xdr.ErrShort):
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && !lacking(want), !errors.Is(err, io.ErrUnexpectedEOF) && errors.Is(want, xdr.ErrShort):
			return fmt.Errorf("reader %q: DecodeFrom: %v, DecodeXDR: %v", reader.name, err, want)
		default:
			var e *xdr.Error
			if !errors.As(err, &e) {
				return fmt.Errorf("reader %q: DecodeFrom: %v, DecodeXDR: %v", reader.name, err, want)
			}
			if err := sameError(e, want); err != nil {
				return fmt.Errorf("reader %q: DecodeFrom and DecodeXDR: %w", reader.name, err)
			}
		}
	}
	return nil
}

// lacking reports whether DecodeXDR found the input too short.
func lacking(err error) bool { return errors.Is(err, xdr.ErrShort) || errors.Is(err, xdr.ErrCount) }

// limited reads a value with a limit of n bytes: n of them at most are read, and a value that is
// larger is refused.
func limited(t *Type, wire []byte, n int) error {
	r := bytes.NewReader(wire)
	err := t.Stream(t.New()).DecodeFrom(r, n)
	var e *xdr.Error
	switch {
	case len(wire)-r.Len() > n:
		return fmt.Errorf("%d bytes are read", len(wire)-r.Len())
	case n >= len(wire):
		return err
	case !errors.Is(err, xdr.ErrLimit) || !errors.As(err, &e) || e.Want != uint64(n) || e.Found <= uint64(n) || e.Found > uint64(len(wire)) || e.Path() == "":
		return fmt.Errorf("a value of %d bytes: %v", len(wire), err)
	}
	return nil
}

var errBroken = errors.New("the reader is broken")

// broken reads from a reader that fails after n bytes.
func broken(t *Type, wire []byte, n int) error {
	r := io.MultiReader(bytes.NewReader(wire[:n]), iotest.ErrReader(errBroken))
	if err := t.Stream(t.New()).DecodeFrom(r, -1); errors.Is(err, errBroken) == (n == len(wire)) {
		return fmt.Errorf("of %d: %v", len(wire), err)
	}
	return nil
}

// writer counts calls of Write, and takes at most a number of bytes.
type writer struct {
	bytes.Buffer
	calls, most int
	err         error
}

func (w *writer) Write(p []byte) (int, error) {
	w.calls++
	n, _ := w.Buffer.Write(p[:min(len(p), w.most)])
	return n, w.err
}

// writes checks EncodeTo, with writers that take all, less than all, and nothing.
func writes(t *Type, wire []byte) error {
	v := t.New()
	if err := v.UnmarshalBinary(wire); err != nil {
		return err
	}
	for _, w := range []*writer{{most: len(wire)}, {most: len(wire) - 1}, {err: errBroken}} {
		if w.most < 0 {
			continue
		}
		want := w.err
		if want == nil && w.most < len(wire) {
			want = io.ErrShortWrite
		}
		if err := t.Stream(v).EncodeTo(w); !errors.Is(err, want) || w.calls != 1 || !bytes.Equal(w.Bytes(), wire[:w.most]) {
			return fmt.Errorf("%d of %d bytes taken: %x written in %d calls: %v, want %v", w.most, len(wire), w.Bytes(), w.calls, err, want)
		}
	}
	return nil
}
