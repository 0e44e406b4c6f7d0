package figures

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestHead(t *testing.T) {
	h := NewHead(5, 300*time.Microsecond)
	if h.Go == "" || h.CPUs < 1 {
		t.Errorf("%+v", h)
	}
	h.Go, h.CPUs, h.Load = "go1", 2, "1 2 3"
	if got, want := h.String(), "go1, 2 CPUs, load 1 2 3; medians of 5 rounds of 0.3 ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h.Load, h.SliceNS = "", 0
	if got, want := h.String(), "go1, 2 CPUs; medians of 5 rounds"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A report has the head's fields beside its own.
func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, struct {
		Head
		Rows []int `json:"rows"`
	}{NewHead(7, time.Second), []int{1}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"{\n\t\"go\": \"go", "\n\t\"rounds\": 7,", "\n\t\"slice_ns\": 1000000000,", "\n\t\"rows\": ["} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}

func TestRatio(t *testing.T) {
	if got := Ratio(0) + " " + Ratio(1.234); got != "- 1.23" {
		t.Error(got)
	}
}
