package setup

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Unusable settings are refused by the name of the field, before anything is made; the device has
// 16384 Receives.
func TestConfigIsRefusedByItsField(t *testing.T) {
	w := rdmaiotest.New(t)
	h := &rpctest.File{T: t}
	for _, tt := range []struct {
		name string
		cfg  rdmaio.Config
		dial bool // it is the side that dials which refuses
	}{
		{"Credits", rdmaio.Config{Credits: -1}, true},
		{"Credits", rdmaio.Config{Credits: math.MaxInt}, true},
		{"Credits", rdmaio.Config{Credits: 16384, Legacy: true}, false},
		{"InlineSend", rdmaio.Config{InlineSend: 1023}, true},
		{"InlineRecv", rdmaio.Config{InlineRecv: math.MaxInt}, true},
		{"SegmentSize", rdmaio.Config{SegmentSize: -1}, true},
		{"SendQueue", rdmaio.Config{SendQueue: 1}, true},
		{"ReverseCredits", rdmaio.Config{Credits: 16384, ReverseCredits: 1, ReverseHandler: h}, true},
		{"ReverseCredits", rdmaio.Config{ReverseCredits: math.MaxInt, ReverseHandler: h}, true},
		{"ReverseCredits", rdmaio.Config{ReverseCredits: math.MaxInt}, false},
		{"ReverseChunks", rdmaio.Config{Legacy: true, ReverseChunks: true, ReverseHandler: h}, true},
	} {
		var err error
		if tt.dial {
			_, err = rdmaio.Dial(context.Background(), w.Client, w.Addr, &tt.cfg)
		} else {
			_, err = rdmaio.Listen(context.Background(), w.Server, w.ListenAddr, h, &tt.cfg)
		}
		if !errors.Is(err, verbs.ErrInvalidValue) || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A nil device is refused, not dereferenced.
func TestNilDeviceIsRefused(t *testing.T) {
	ctx := context.Background()
	_, dial := rdmaio.Dial(ctx, nil, "there", nil)
	_, listen := rdmaio.Listen(ctx, nil, "there", &rpctest.File{T: t}, nil)
	_, client := rdmaio.NewClient(nil, "there", nil)
	for name, err := range map[string]error{"Dial": dial, "Listen": listen, "NewClient": client} {
		if !errors.Is(err, verbs.ErrInvalidValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
