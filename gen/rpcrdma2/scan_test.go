package rpcrdma2

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A scan yields no element of an array whose count exceeds the input.
func TestScanOfTooManyProperties(t *testing.T) {
	wire := []byte{
		0, 0, 0, 2, // properties
		0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 16, 0, // one
	}
	s := ScanConnProp(wire)
	for range s.Props() {
		t.Error("a property of an array that is too long")
	}
	if _, err := s.End(); !errors.Is(err, xdr.ErrCount) {
		t.Errorf("%v, want %v", err, xdr.ErrCount)
	}
}
