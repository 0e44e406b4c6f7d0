package codec

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestAmplify allocates all of a budget, and then one byte more.
func TestAmplify(t *testing.T) {
	const n, base = 1000, 4096
	limited := &xdr.DecoderOptions{Limits: xdr.Limits{MaxMemory: 10}}
	tests := []struct {
		name string
		opt  *xdr.DecoderOptions
		rate []uint64
		want int
	}{
		{"default", nil, nil, 64*n + base},
		{"less than the default", nil, []uint64{3}, 64*n + base},
		{"more", nil, []uint64{76}, 76*n + base},
		{"the most counts", nil, []uint64{76, 80, 70}, 80*n + base},
		{"a limit that is set stays", limited, []uint64{76}, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			take := func(size int) error {
				d := xdr.NewDecoder(make([]byte, 2*n), tt.opt)
				Amplify(d, 1000)
				d.Reset(make([]byte, n)) // forgets it
				for _, r := range tt.rate {
					Amplify(d, r)
				}
				var s []byte
				return Resize(d, &s, 1, size, 0)
			}
			if err := take(tt.want); err != nil {
				t.Errorf("%d bytes: %v", tt.want, err)
			}
			if err := take(tt.want + 1); !errors.Is(err, xdr.ErrMemory) {
				t.Errorf("%d bytes: %v, want %v", tt.want+1, err, xdr.ErrMemory)
			}
		})
	}
}
