package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/codec"
)

func TestJSON(t *testing.T) {
	var out, errs bytes.Buffer
	o := options{rounds: 5, slice: 100 * time.Microsecond, messages: []string{"a"}, json: true}
	if err := run(&out, &errs, o); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, x := range r.Rows {
		seen[x.Codec+" "+x.Op] = true
		if x.Message != "a" || x.NS <= 0 {
			t.Errorf("row %+v", x)
		}
		if x.Codec == "hand" && x.Op == codec.OpDecode && x.Ratio != 1 {
			t.Errorf("hand to itself: ratio %v, want 1", x.Ratio)
		}
	}
	for _, want := range []string{"memmove encode", "hand encode", "hand check only", "stellar xdr3 decode"} {
		if !seen[want] {
			t.Errorf("no row %q", want)
		}
	}
}

func TestUnknownMessage(t *testing.T) {
	var out, errs bytes.Buffer
	err := run(&out, &errs, options{rounds: 5, slice: time.Millisecond, messages: []string{"z"}})
	if err == nil || !strings.Contains(err.Error(), "there is no message z") {
		t.Errorf("error %v", err)
	}
}

// A generated codec is held to its targets by the times of the limit.
func TestTargets(t *testing.T) {
	rowOf := func(op string, role codec.Role, name string, ns float64) row {
		return row{Message: "a", Op: op, Codec: name, Role: role, NS: ns}
	}
	r := report{Rows: []row{
		rowOf(codec.OpEncode, codec.Limit, "hand", 100),
		rowOf(codec.OpDecode, codec.Limit, "hand", 200),
		rowOf(codec.OpEncode, codec.Generated, "g", 110),
		rowOf(codec.OpDecode, codec.Generated, "g", 231),
		rowOf(codec.OpCheck, codec.Generated, "g", 120),
		rowOf(codec.OpEncode, codec.Peer, "p", 879),
		rowOf(codec.OpFresh, codec.Peer, codec.TirpcName, 2772),
	}}
	r.finish()
	for i, want := range []struct {
		target string
		met    bool
	}{
		{"", false},
		{"", false},
		{"<= 1.10 hand", true},
		{"<= 1.15 hand", false},
		{"<= 0.60 hand decode", true},
		{">= 8.00 ours", false},
		{">= 12.00 ours", true},
	} {
		x := r.Rows[i]
		got := ""
		if x.Target != nil {
			got = x.Target.String()
		}
		if got != want.target || x.Met != want.met {
			t.Errorf("%s %s: target %q met %v, want %q met %v", x.Codec, x.Op, got, x.Met, want.target, want.met)
		}
	}
}
