package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/bench/codec"
	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
)

// row holds the figures of one codec, operation and message.
type row struct {
	Message string     `json:"message"`
	Op      string     `json:"op"`
	Codec   string     `json:"codec"`
	Role    codec.Role `json:"role"`
	NS      float64    `json:"ns"` // median
	Low     float64    `json:"low_ns"`
	High    float64    `json:"high_ns"`
	Allocs  float64    `json:"allocs"`
	Outside bool       `json:"outside,omitempty"` // another process: its allocations are unknown

	// Ratio is to hand doing the same, of a check or a copying decode to
	// hand's decode, and to generated code for messages that are not written by
	// hand; 0 if neither does it.
	Ratio float64 `json:"ratio,omitempty"`
	// Best is the same of the fastest rounds.
	Best float64 `json:"best,omitempty"`
	// Bound is the ratio that Target is about, and Met whether it holds.
	Target *target `json:"target,omitempty"`
	Bound  float64 `json:"bound,omitempty"`
	Met    bool    `json:"met,omitempty"`
}

type report struct {
	figures.Head
	Rows []row `json:"rows"`

	sizes map[string]int
}

func newReport(o options) *report {
	return &report{Head: figures.NewHead(o.rounds, o.slice), sizes: make(map[string]int)}
}

func (r *report) add(m codec.Message, rows []row) {
	r.sizes[m.Name] = len(m.Wire)
	r.Rows = append(r.Rows, rows...)
}

// find returns the first codec with a role, or nil.
func (r *report) find(message, op string, role codec.Role) *row {
	for i := range r.Rows {
		if x := &r.Rows[i]; x.Message == message && x.Op == op && x.Role == role {
			return x
		}
	}
	return nil
}

// finish computes the ratios.
func (r *report) finish() {
	for i := range r.Rows {
		x := &r.Rows[i]
		like := x.Op
		if like == codec.OpCheck || like == codec.OpCopy || like == codec.OpVisit {
			like = codec.OpDecode
		}
		unit := r.find(x.Message, like, codec.Limit)
		if unit == nil {
			unit = r.find(x.Message, like, codec.Generated)
		}
		if unit != nil {
			x.Ratio, x.Best = x.NS/unit.NS, x.Low/unit.Low
		}
		t, ok := target{}, false
		switch x.Role {
		case codec.Generated:
			t, ok = generatedTarget(x.Message, x.Op)
		case codec.Limit:
			// Where hand is not the measure itself, it shows what can be met.
			t, ok = generatedTarget(x.Message, x.Op)
			ok = ok && t.Of != ofHand
		case codec.Peer:
			t, ok = peerTarget(x.Codec, x.Message, x.Op)
		}
		if !ok {
			continue
		}
		if base := r.base(x, t.Of); base != nil {
			x.Target, x.Bound = &t, x.NS/base.NS
			x.Met = t.met(x.Bound)
		}
	}
}

// base returns the row that x is compared with, or nil.
func (r *report) base(x *row, of string) *row {
	switch of {
	case ofHand:
		return r.find(x.Message, x.Op, codec.Limit)
	case ofDecode:
		return r.find(x.Message, codec.OpDecode, codec.Limit)
	case ofMove:
		return r.find(x.Message, x.Op, codec.Floor)
	}
	op := x.Op
	if op == codec.OpFresh {
		op = codec.OpDecode // generated code is made for reused values, C's users decode fresh ones
	}
	if ours := r.find(x.Message, op, codec.Generated); ours != nil {
		return ours
	}
	return r.find(x.Message, op, codec.Limit)
}

func (r *report) writeTable(out io.Writer) error {
	fmt.Fprintf(out, "%s, interleaved\n", r.Head)
	fmt.Fprintln(out, "ratios are to hand doing the same (checks and copying decodes: to hand's decode), of the messages after d to generated code; in targets, \"ours\" is generated code, or hand where none is registered")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	message := ""
	for i := range r.Rows {
		x := &r.Rows[i]
		if x.Message != message {
			message = x.Message
			fmt.Fprintf(w, "\nmessage %s, %d bytes\top\tns\tlow to high\tratio\tat best\tallocs\ttarget\n", message, r.sizes[message])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s to %s\t%s\t%s\t%s\t%s\n", x.Codec, x.Op,
			number(x.NS), number(x.Low), number(x.High), figures.Ratio(x.Ratio), figures.Ratio(x.Best), x.allocs(), x.target())
	}
	return w.Flush()
}

func (x *row) allocs() string {
	if x.Outside {
		return "-"
	}
	return fmt.Sprintf("%.0f", x.Allocs)
}

func (x *row) target() string {
	if x.Target == nil {
		return ""
	}
	verdict := "missed"
	if x.Met {
		verdict = "met"
	}
	return fmt.Sprintf("%s: %.2f, %s", x.Target, x.Bound, verdict)
}

// number returns nanoseconds with about three digits.
func number(ns float64) string {
	if ns < 100 {
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}
