package codec

import "testing"

// TestCloneNil checks that a nil pointer has a nil copy.
func TestCloneNil(t *testing.T) {
	for _, deepen := range []func(*Cloner, *[]byte){nil, func(*Cloner, *[]byte) { t.Error("deepen was called") }} {
		if c, err := Clone((*[]byte)(nil), deepen); c != nil || err != nil {
			t.Errorf("%v, %v", c, err)
		}
	}
}
