package rdmatcp_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
)

// A message of the preferred inline size is staged: it shares a write with its neighbours.
func TestInlineSizeIsStaged(t *testing.T) {
	if got := device(t, nil).Attributes().InlineSize; got > rdmatcp.StageLimit {
		t.Errorf("messages of %d bytes are preferred, and those above %d are direct", got, rdmatcp.StageLimit)
	}
}
