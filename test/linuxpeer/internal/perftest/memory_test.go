package perftest

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// TestHandshake encodes a handshake, and decodes it and its prefixes.
func TestHandshake(t *testing.T) {
	t.Parallel()
	m := Memory{Key: 0x01020304, Addr: 0x1112131415161718}
	b := m.appendHandshake(nil)
	const want = "00000000000000000000000000000000" + "0102030400000000" + "1112131415161718" +
		"000000000000000000000000000000000000000000000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("encoded\n%s, expected\n%s", got, want)
	}
	if got, err := parseHandshake(b); err != nil || got != m {
		t.Errorf("decoded %+v, %v", got, err)
	}
	for n := range b {
		if _, err := parseHandshake(b[:n]); err == nil {
			t.Errorf("%d bytes: no error", n)
		}
	}
}

// FuzzHandshake decodes any bytes.
func FuzzHandshake(f *testing.F) {
	f.Add(Memory{Key: 1, Addr: 2}.appendHandshake(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseHandshake(b)
		if err != nil {
			return
		}
		again, err := parseHandshake(m.appendHandshake(nil))
		if err != nil || again != m {
			t.Errorf("%x: %+v, then %+v, %v", bytes.Clone(b), m, again, err)
		}
	})
}
