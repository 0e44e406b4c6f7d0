package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/continued"
)

func TestRun(t *testing.T) {
	o := options{Options: continued.Options{Rounds: 5, Slice: time.Microsecond}, json: true, svg: filepath.Join(t.TempDir(), "a.svg")}
	var out bytes.Buffer
	if err := run(&out, o); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if want := 2 * 2 * 3 * len(continued.Inlines) * len(continued.Sizes); len(r.Results) != want {
		t.Errorf("%d results, want %d", len(r.Results), want)
	}
	for _, x := range r.Results {
		if x.NS <= 0 || x.Low > x.NS {
			t.Errorf("%+v", x)
		}
	}
	picture, err := os.ReadFile(o.svg)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.StartElement); ok {
			count[s.Name.Local]++
		}
	}
	if n := strings.Count(string(picture), `fill="none"`); count["g"] != 4 || n != 4*len(lines()) {
		t.Errorf("%d panels, %d lines", count["g"], n)
	}
}

func TestTable(t *testing.T) {
	at := func(way string, ns float64) continued.Result {
		return continued.Result{Provider: continued.Mem, Direction: continued.Call, Way: way, Inline: 4 << 10, Size: 8 << 10, NS: ns}
	}
	r := report{Results: []continued.Result{at(continued.Continued, 3000), at(continued.ReadChunk, 6000)}}
	var out bytes.Buffer
	if err := r.writeTable(&out); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	if want := "inline 4 KiB 8 KiB 3.0 6.0 (0.50) - inline"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
	}
}
