package ir

import "testing"

// TestMethodWords checks that each listed word is accepted, that each method has a word, and that
// none removes the methods before it.
func TestMethodWords(t *testing.T) {
	var all Methods
	for _, w := range MethodWords() {
		if !all.Apply(w) {
			t.Errorf("%s is listed and not accepted", w)
		}
	}
	if all != (Methods{String: true, Clone: true, Equal: true, Stream: true, JSON: true}) {
		t.Errorf("all words give %+v", all)
	}
	if all.Apply("none"); all != (Methods{}) {
		t.Errorf("none leaves %+v", all)
	}
	if all.Apply("strings") || all != (Methods{}) {
		t.Errorf("an unknown word was accepted: %+v", all)
	}
}
