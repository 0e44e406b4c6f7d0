package main

import (
	"context"
	"testing"
	"time"
)

// Every mutant changes what is there, once, and something. Whether it is killed takes minutes: make mutants.
func TestMutantsApply(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range mutants {
		if _, err := m.mutate("../.."); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if m.old == m.new || names[m.name] || len(m.tests) == 0 {
			t.Errorf("%s: changes nothing, is tested by nothing, or is there twice", m.name)
		}
		names[m.name] = true
	}
}

// A mistake is found, a change that is none is not, and one that does not compile is neither.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	base := mutant{file: "rdmaio/internal/credit/v1.go", old: "return r.inFlight < r.granted", tests: []string{"rdmaio/internal/credit"}}
	for _, tt := range []struct {
		new, by string
		fails   bool
	}{
		{"return r.inFlight < r.granted+1", "rdmaio/internal/credit", false},
		{"return r.granted > r.inFlight", "", false},
		{"return r.granted", "", true},
	} {
		m := base
		m.new = tt.new
		by, _, err := m.try(context.Background(), "../..", 5*time.Minute)
		if by != tt.by || (err != nil) != tt.fails {
			t.Errorf("%s: killed by %q, %v", tt.new, by, err)
		}
	}
}
