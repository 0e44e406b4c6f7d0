package v2test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Config returns a Config with version 2 before version 1, if it has no versions.
func Config(cfg rdmaio.Config) *rdmaio.Config {
	if cfg.Versions == nil {
		cfg.Versions = []int{2, 1}
	}
	if cfg.InlineSend == 0 {
		cfg.InlineSend, cfg.InlineRecv = 4096, 4096
	}
	return &cfg
}

// Each runs a test over each provider, as a subtest with a name.
func Each(t *testing.T, name string, test func(t *testing.T, w *rdmaiotest.World)) {
	t.Run(name, func(t *testing.T) { rdmaiotest.Each(t, test) })
}
