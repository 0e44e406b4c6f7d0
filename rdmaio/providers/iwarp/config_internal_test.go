package iwarp

import (
	"crypto/tls"
	"testing"
	"time"
)

// The delay for Linux's siw is the default only where the peer can be Linux.
func TestDelayForLinuxIsTheDefaultForLinuxPeers(t *testing.T) {
	for _, tt := range []struct {
		cfg  Config
		want time.Duration
	}{
		{Config{}, defaultDelay},
		{Config{TLS: &tls.Config{}}, 0},
		{Config{FirstDelay: time.Second, TLS: &tls.Config{}}, time.Second},
		{Config{FirstDelay: -1}, 0},
	} {
		if got, err := tt.cfg.fill(); err != nil || got.FirstDelay != tt.want {
			t.Errorf("FirstDelay %v, TLS %v: %v, %v, want %v", tt.cfg.FirstDelay, tt.cfg.TLS != nil, got.FirstDelay, err, tt.want)
		}
	}
}
