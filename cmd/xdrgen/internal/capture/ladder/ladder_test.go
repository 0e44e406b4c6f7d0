package ladder_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/ladder"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// call is a call by the client's clock, in microseconds.
type call struct {
	xid                                           uint32
	first, whole, arrived, answered, begins, last int64
	outcome                                       string
}

// joined returns the ladder of calls whose server's clock is ahead by a time in nanoseconds.
func joined(calls []call, ahead int64) ladder.Ladder {
	var j ladder.Join
	for i, c := range calls {
		s := ladder.Seen{Key: ladder.Key{XID: c.xid, Program: 9, Version: 1, Procedure: 2, Hash: uint64(i)}, Name: fmt.Sprintf("PROC_%d", c.xid), Outcome: c.outcome, Failed: c.outcome == "SYSTEM_ERR"}
		s.Times = ladder.Times{First: c.first * 1000, Whole: c.whole * 1000, Reply: c.begins * 1000, Last: c.last * 1000}
		j.Client(s)
		s.Times = ladder.Times{First: c.arrived*1000 + ahead, Whole: c.arrived*1000 + ahead, Reply: c.answered*1000 + ahead, Last: c.answered*1000 + ahead}
		j.Server(s)
	}
	return j.Ladder()
}

// sample has calls one after the other, at the same time, with an error, and with hostile text. Two
// of them bound the clocks to the microsecond.
var sample = []call{
	{1, 0, 0, 1, 500, 501, 501, "{}"},
	{2, 900, 1400, 1450, 2600, 2650, 2700, `{name: "<&\"` + "\x1b" + `"}`},
	{3, 1000, 1000, 1100, 1200, 1300, 1300, "SYSTEM_ERR"},
	{4, 1010, 1010, 1500, 9000, 9100, 9300, strings.Repeat("long ", 20)},
	{5, 5000000, 5000000, 5000200, 5000300, 5000400, 5000400, "{}"},
}

// The text and the picture have the four times of each call by one clock.
func TestLadderIsDrawn(t *testing.T) {
	l := joined(sample, -7654321)
	l.ClientOnly, l.ServerOnly, l.LeftOut = 3, 1, 2
	var text, picture bytes.Buffer
	if err := errors.Join(l.Text(&text), l.SVG(&picture)); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", "ladder.txt"), text.Bytes())
	golden.Check(t, filepath.Join("testdata", "ladder.svg"), picture.Bytes())
	if strings.Contains(text.String()+picture.String(), "\x1b") {
		t.Error("controls are not replaced")
	}
}

// A picture of many calls is well-formed XML with at most 60 calls, and labels in a column do not
// overlap.
func TestPictureOfManyCalls(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var calls []call
		at := int64(0)
		for i := range uint32(1 + r.IntN(90)) {
			at += int64(r.IntN(3000))
			c := call{xid: i, first: at, outcome: "{}"}
			c.whole = c.first + int64(r.IntN(2)*r.IntN(500))
			c.arrived = c.whole + 1 + int64(r.IntN(100))
			c.answered = c.arrived + int64(r.IntN(4000))
			c.begins = c.answered + 1 + int64(r.IntN(100))
			c.last = c.begins + int64(r.IntN(2)*r.IntN(500))
			calls = append(calls, c)
		}
		l := joined(calls, int64(r.IntN(1e9)))
		var out bytes.Buffer
		if err := l.SVG(&out); err != nil {
			t.Fatal(err)
		}
		columns, groups := map[string][]int{}, 0
		for d := xml.NewDecoder(&out); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "g" {
				groups++
			} else if ok && e.Name.Local == "text" && groups > 0 {
				y, err := strconv.Atoi(e.Attr[1].Value)
				if err != nil {
					t.Fatal(err)
				}
				columns[e.Attr[0].Value] = append(columns[e.Attr[0].Value], y)
			}
		}
		if groups != min(len(calls), ladder.MaxDrawn) {
			t.Errorf("seed %d: %d calls drawn of %d", seed, groups, len(calls))
		}
		for x, all := range columns {
			slices.Sort(all)
			all = all[:len(all)*2/3+1] // without the summary
			for i := 1; i < len(all); i++ {
				if d := all[i] - all[i-1]; d > 0 && d < 12 {
					t.Errorf("seed %d: labels at x=%s, y=%d and %d overlap", seed, x, all[i-1], all[i])
				}
			}
		}
	}
}

// The true difference of the clocks lies within the error of the estimate, and no call arrives
// before it is sent. If one clock is faster, the ladder says so.
func TestClockIsEstimated(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		ahead := r.Int64N(2e12) - 1e12
		var calls []call
		for i := range uint32(1 + r.IntN(20)) {
			at := int64(i) * 1000
			sent, served, received := 1+r.Int64N(200), r.Int64N(200), 1+r.Int64N(200)
			calls = append(calls, call{i, at, at, at + sent, at + sent + served, at + sent + served + received, at + sent + served + received, ""})
		}
		l := joined(calls, ahead)
		if d := l.Clock.Ahead - ahead; max(d, -d) > l.Clock.Error || l.Clock.Drift || len(l.Rungs) != len(calls) {
			t.Fatalf("seed %d: %+v, want %d; %d calls of %d", seed, l.Clock, ahead, len(l.Rungs), len(calls))
		}
		for i := range l.Rungs {
			g := &l.Rungs[i]
			if g.Sent() < 0 || g.Received() < 0 || g.Waited()+g.Sent()+g.Served()+g.Received() != g.Took() {
				t.Errorf("seed %d: waited %d, sent %d, served %d, received %d of %d", seed, g.Waited(), g.Sent(), g.Served(), g.Received(), g.Took())
			}
		}
	}
	late := []call{{1, 0, 0, 5, 10, 15, 15, ""}, {2, 1000, 1000, 5005, 5010, 1015, 1015, ""}}
	if l := joined(late, 0); !l.Clock.Drift || l.Clock.Error < 1.9e6 {
		t.Errorf("a clock that was set: %+v", l.Clock)
	}
}

// Calls are joined by XID, procedure and content, in their order. A capture that lacks a part of a
// Call is joined without the content.
func TestCallsAreJoined(t *testing.T) {
	key := func(xid uint32, hash uint64) ladder.Seen {
		return ladder.Seen{Key: ladder.Key{XID: xid, Program: 1, Hash: hash}, Times: ladder.Times{First: int64(hash), Whole: int64(hash), Reply: int64(hash) + 9, Last: int64(hash) + 9}}
	}
	var j ladder.Join
	for _, s := range []ladder.Seen{key(1, 10), key(1, 20), key(2, 30), key(3, 40), key(4, 50)} {
		j.Client(s)
	}
	for _, s := range []ladder.Seen{key(1, 20), key(1, 10), key(2, 0), key(3, 40), key(3, 40)} {
		j.Server(s)
	}
	l := j.Ladder()
	if len(l.Rungs) != 4 || l.ClientOnly != 1 || l.ServerOnly != 1 {
		t.Errorf("%d joined, %d and %d alone", len(l.Rungs), l.ClientOnly, l.ServerOnly)
	}
	var once ladder.Join
	once.Client(key(1, 10))
	once.Client(key(1, 11))
	once.Server(key(1, 10))
	if l := once.Ladder(); len(l.Rungs) != 1 || l.ClientOnly != 1 {
		t.Errorf("a call of the server is joined %d times", len(l.Rungs))
	}
	for range ladder.MaxCalls + 5 {
		j.Server(key(9, 9))
	}
	if l := j.Ladder(); l.LeftOut != 10 {
		t.Errorf("%d calls are left out, want 10", l.LeftOut)
	}
	var swapped []call
	for i := range uint32(5) {
		swapped = append(swapped, call{i, 100, 100, 50, 250, 200, 200, ""})
	}
	if l := joined(swapped, 0); !l.Swapped() {
		t.Error("captures in the wrong order are not noticed")
	}
	if l := joined(sample, 0); l.Swapped() {
		t.Error("captures in the right order are taken for the wrong one")
	}
}
