package places_test

import (
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/rpcrdma/rpcrdma/internal/places"
)

// Each connection has a place of its own; the shared ones go to the connections in turn.
func TestPlaces(t *testing.T) {
	p := places.Places[string]{Most: 1}
	var a, b places.Queue[string]
	assign := func(q *places.Queue[string], name string, want places.Place) {
		t.Helper()
		if got := p.Assign(q, &name); got != want {
			t.Errorf("%s: place %v, want %v", name, got, want)
		}
	}
	next := func(at places.Place, q *places.Queue[string], want string) {
		t.Helper()
		got := ""
		if r := p.Next(at, q); r != nil {
			got = *r
		}
		if got != want {
			t.Errorf("next is %q, want %q", got, want)
		}
	}
	assign(&a, "a1", places.Own)
	assign(&a, "a2", places.Shared)
	for _, name := range []string{"a3", "a4", "a5", "a6"} {
		assign(&a, name, places.None)
	}
	assign(&b, "b1", places.Own)
	assign(&b, "b2", places.None)
	next(places.Shared, &a, "a3")
	next(places.Shared, &a, "b2")
	next(places.Own, &a, "a4")
	next(places.Own, &b, "")
	assign(&b, "b3", places.Own)
	var left []string
	for _, r := range p.RemoveAll(&a) {
		left = append(left, *r)
	}
	if !slices.Equal(left, []string{"a5", "a6"}) {
		t.Errorf("removed %q", left)
	}
	next(places.Shared, &b, "")
	next(places.Own, &a, "")
	assign(&a, "a7", places.Own)
	assign(&b, "b4", places.Shared)
}

// Without a limit no Request waits.
func TestNoLimit(t *testing.T) {
	var p places.Places[int]
	var q places.Queue[int]
	for i := range 100 {
		if p.Assign(&q, &i) == places.None {
			t.Errorf("Request %d waits", i)
		}
	}
}

// After RemoveAll nothing refers to the Queue, and so to its connection, although no shared place
// becomes free.
func TestRemoveAllForgets(t *testing.T) {
	p := places.Places[int]{Most: 1}
	var holder places.Queue[int]
	a, b := new(int), new(int)
	p.Assign(&holder, a)
	p.Assign(&holder, b)
	gone := func() weak.Pointer[places.Queue[int]] {
		q := new(places.Queue[int])
		p.Assign(q, a)
		if p.Assign(q, b) != places.None || len(p.RemoveAll(q)) != 1 {
			t.Error("no Request waits")
		}
		return weak.Make(q)
	}()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the Queue is still in use")
	}
	if next := p.Next(places.Shared, &holder); next != nil {
		t.Errorf("next is %v, want none", next)
	}
	runtime.KeepAlive(&p)
}
