package ir

import "testing"

// TestKindsHaveWords checks that exactly the kinds that do not refer to another type have a
// keyword.
func TestKindsHaveWords(t *testing.T) {
	for k := Bool; k <= Ref; k++ {
		if named := k >= FixedArray; (k.Word() == "") != named {
			t.Errorf("kind %d: %q", k, k.Word())
		}
	}
	if Uhyper.Word() != "unsigned hyper" || Opaque.Word() != "opaque" || Kind(0).Word() != "" {
		t.Errorf("%q, %q, %q", Uhyper.Word(), Opaque.Word(), Kind(0).Word())
	}
}

func TestSizesHaveBounds(t *testing.T) {
	for want, typ := range map[string]*Type{"<>": {Kind: Opaque}, "<0>": {Kind: String, Bounded: true}, "<64>": {Kind: Array, Bounded: true, Max: 64}} {
		if got := typ.Bounds(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
