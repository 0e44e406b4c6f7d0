package provider

import (
	"strings"
	"testing"
)

// A provider is known by its name. One without devices of a name takes none.
func TestNamesOfProviders(t *testing.T) {
	for name, want := range map[string]bool{
		"iwarp": true, "rdmatcp": true, "": false, "siw": false, "iwarp=siw0": false, "rdmatcp=": false, "=iwarp": false,
	} {
		if err := Check(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		} else if err != nil && !strings.Contains(err.Error(), "expected "+Forms()) {
			t.Errorf("%q: %v, expected it to name %s", name, err, Forms())
		}
		dev, err := Open(name)
		if (err == nil) != want {
			t.Errorf("open %q: %v", name, err)
		}
		if err == nil {
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
