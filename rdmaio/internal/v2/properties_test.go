package v2_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// checkTerms checks the limits of any terms, at an end with these properties (R229).
func checkTerms(t *testing.T, got header.Terms, own v2.Properties) {
	t.Helper()
	if got.Send < 4096 || got.Send > int(own.MaxSend) || got.Recv < 4096 || got.Recv > int(own.ReceiveSize) ||
		got.SegmentSize < 1 || got.Segments < 1 || got.Reverse > header.ReverseNone {
		t.Errorf("terms %+v at an end with %+v", got, own)
	}
}
