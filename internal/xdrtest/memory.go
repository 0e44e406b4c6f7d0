package xdrtest

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The memory that a decoder may allocate for an input of n bytes: by default 64 bytes of Go memory
// for each byte, and 4096, for elements (xdr.Limits.MaxMemory); n for the arena of a copying
// decoder; an eighth for the rounding of Go's size classes; and less than overhead for the value,
// the decoder and an error.
const overhead = 4096

func allowance(n int) uint64 { return uint64(64*n+4096+n)*9/8 + overhead }

// Bounded checks that decoding in allocates no more than its length justifies, whatever its counts
// claim.
func Bounded[T any, P Codec[T]](in []byte) error {
	got := allocated(allowance(len(in)), func() {
		var v T
		_ = P(&v).DecodeXDR(xdr.NewDecoder(in, nil)) // it may be refused: only the memory matters
	})
	if got > allowance(len(in)) {
		return fmt.Errorf("decoding %d bytes took %d bytes of memory, at most %d are justified", len(in), got, allowance(len(in)))
	}
	return nil
}

// allocated returns the number of bytes that f allocates. Other goroutines count too, so a result
// over the limit is measured again.
func allocated(limit uint64, f func()) uint64 {
	var least uint64
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		got := after.TotalAlloc - before.TotalAlloc
		if least == 0 || got < least {
			least = got
		}
		if got <= limit {
			break
		}
	}
	return least
}

// allocations checks that the fast path allocates nothing: encoding into a buffer, checking, and
// decoding into a reused value in aliasing mode.
func allocations[T any, P Codec[T]](s sample[T]) error {
	if Race {
		return nil // the race detector allocates
	}
	p := P(&s.want)
	buf := make([]byte, 0, len(s.bytes))
	e := xdr.NewEncoder(nil)
	var err error
	if n := testing.AllocsPerRun(100, func() {
		e.Reset(buf)
		err = p.EncodeXDR(e)
	}); n != 0 || err != nil {
		return fmt.Errorf("EncodeXDR into a buffer: %v allocations, %v; want none", n, err)
	}
	if n := testing.AllocsPerRun(100, func() { _, err = p.AppendBinary(buf) }); n != 0 || err != nil {
		return fmt.Errorf("AppendBinary to a buffer: %v allocations, %v; want none", n, err)
	}
	if c, ok := any(p).(checker); ok {
		if n := testing.AllocsPerRun(100, func() { _, err = c.CheckXDR(s.bytes) }); n != 0 || err != nil {
			return fmt.Errorf("CheckXDR: %v allocations, %v; want none", n, err)
		}
	}
	v := P(new(T))
	d := xdr.NewDecoder(nil, alias())
	if n := testing.AllocsPerRun(100, func() {
		d.Reset(s.bytes)
		err = v.DecodeXDR(d)
	}); n != 0 || err != nil {
		return fmt.Errorf("DecodeXDR into a reused value: %v allocations, %v; want none", n, err)
	}
	return nil
}

// retainedOf returns the number of bytes that v retains by its slices and pointers, spare capacity
// included.
func retainedOf(v any) uint64 { return retained(reflect.ValueOf(v).Elem()) }

func retained(v reflect.Value) uint64 {
	var n uint64
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = uint64(v.Type().Elem().Size()) + retained(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += retained(v.Field(i))
		}
	case reflect.Slice:
		v = v.Slice3(0, v.Cap(), v.Cap())
		n = uint64(v.Cap()) * uint64(v.Type().Elem().Size())
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				n += retained(v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			n += retained(v.Index(i))
		}
	}
	return n
}
