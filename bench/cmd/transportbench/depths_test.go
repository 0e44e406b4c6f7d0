package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/transport"
)

// The picture is XML, and has a line for each series that was measured, with a point for each
// depth, in both panels.
func TestDepthsAreDrawn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "depths.svg")
	o := options{Options: transport.Options{Rounds: 5, Slice: time.Millisecond, Match: drawn()}, depths: name}
	if testing.Short() {
		all := depths
		depths = []int{1, 32, 1024}
		t.Cleanup(func() { depths = all })
	}
	if err := run(io.Discard, o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d, lines := xml.NewDecoder(strings.NewReader(string(text))), 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "path" {
			continue
		}
		for _, a := range start.Attr {
			if a.Name.Local == "fill" && a.Value == "none" {
				lines++
			}
			if points := strings.Fields(strings.TrimPrefix(a.Value, "M")); a.Name.Local == "d" && len(points) > 2 && len(points) != 2*len(depths) {
				t.Errorf("a line has %d numbers, want %d", len(points), 2*len(depths))
			}
		}
	}
	if lines != 2*len(series) {
		t.Errorf("%d lines, want %d", lines, 2*len(series))
	}
}
