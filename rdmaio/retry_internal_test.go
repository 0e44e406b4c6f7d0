package rdmaio

import (
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R284: a Call that would fail in the same way on another connection is not sent again, even where
// the connection ended too.
func TestLastingErrorIsNotRetried(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&PeerError{Code: PeerErrChunk}, true},
		{&SizeError{}, true},
		{&Fault{}, true},
		{context.Canceled, true},
		{verbs.ErrDeviceRemoved, true},
		{verbs.ErrTLS, true},
		{verbs.ErrOtherProtocol, true},
		{verbs.ErrProcessLimit, true},
		{verbs.ErrConnectionBroken, false},
		{verbs.ErrConnectionRefused, false},
	} {
		if got := lasting(fmt.Errorf("wrapped: %w", tt.err)); got != tt.want {
			t.Errorf("%T %v: %v, want %v", tt.err, tt.err, got, tt.want)
		}
	}
}
