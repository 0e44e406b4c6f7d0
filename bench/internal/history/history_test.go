package history

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/internal/target"
)

func withFloor(t target.Target, v float64) target.Target {
	t.Floor = v
	return t
}

func sample(commit string, value, spread float64) Line {
	return Line{
		V: 1, Commit: commit, Date: "2026-11-24T12:00:00Z", CPUs: 2, Load: "1.00 1.00 1.00", Noise: Noise{spread},
		Rows: []Figure{
			{"rdmatcp call 128 B x 32", withFloor(target.AtLeast("of framed call", value, 0.6), 0.65)},
			{"rdmatcp call 128 B x 1", target.AtMost("p50 x <tcp>", 3*value, 1.5)},
		},
	}
}

func TestAppendAndRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.jsonl")
	want := []Line{sample("aaaaaaa", 0.5, 1.1), sample("bbbbbbb-dirty", 0.7, 2)}
	for _, l := range want {
		if err := Append(file, l); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := Read(f)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestReadRefuses(t *testing.T) {
	const good = `{"v":1,"commit":"a","date":"d","rows":[{"row":"r","what":"w","value":1,"at_most":2,"met":true}]}` + "\n"
	if lines, err := Read(strings.NewReader(good + "\n" + good)); err != nil || len(lines) != 2 {
		t.Errorf("%d lines, %v, want 2", len(lines), err)
	}
	for text, want := range map[string]string{
		good + "{":           "line 2: unexpected end of JSON input",
		good + `{"v":2}`:     "line 2: version 2, expected 1",
		`{"v":1,"date":"d"}`: "line 1: no commit or no date",
		strings.Replace(good, `"at_most":2,`, ``, 1):   `line 1: row "r": expected a row, a measure and one target`,
		strings.Replace(good, `"what":"w",`, ``, 1):    `line 1: row "r": expected a row, a measure and one target`,
		good + strings.Repeat(" ", maxLine) + "x\n":    "line 2: bufio.Scanner: token too long",
		good + "\n" + strings.TrimSuffix(good, "]}\n"): "line 3: unexpected end of JSON input",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.120s: error %v, want %s", text, err, want)
		}
	}
}

func TestNoise(t *testing.T) {
	for _, c := range []struct {
		spreads []float64
		quiet   bool
		text    string
	}{
		{nil, false, "noise unknown: no reference row was measured"},
		{[]float64{1.3, 1.1, 1.2}, true, "quiet: reference rows spread by 1.20, at most 1.25"},
		{[]float64{1.1, 2, 3}, false, "noisy: reference rows spread by 2.00, over 1.25"},
	} {
		if n := NewNoise(c.spreads); n.Quiet() != c.quiet || n.String() != c.text {
			t.Errorf("%v: %v, %q, want %v, %q", c.spreads, n.Quiet(), n, c.quiet, c.text)
		}
	}
	if got := Spread([]float64{1, 2, 3, 4, 100}); got != 2 {
		t.Errorf("the quartiles of five rounds spread by %v, want 2", got)
	}
	if got := Spread(nil); got != 0 {
		t.Errorf("no rounds spread by %v, want 0", got)
	}
}

func TestRoundStep(t *testing.T) {
	for v, want := range map[float64]float64{0.19: 0.2, 0.2: 0.2, 0.21: 0.5, 0.6: 1, 1: 1, 3: 5, 7: 10, 12: 20} {
		if got := roundStep(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: found step %v, want %v", v, got, want)
		}
	}
}

// The picture is well-formed, and has a legend, and a panel with a target and axis labels for each
// measure. One measure has floors.
func TestDraw(t *testing.T) {
	lines := []Line{sample("aaaaaaa", 0.5, 1.1), sample("bbbbbbb-dirty", 0.7, 2)}
	for i := range 30 {
		lines = append(lines, sample(fmt.Sprintf("c%06d", i), 0.6, 1))
	}
	for _, n := range []int{1, 2, len(lines)} {
		var b bytes.Buffer
		if err := Draw(&b, lines[:n], nil); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%d runs: %v\n%s", n, err, &b)
			}
		}
		text := b.String()
		for what, want := range map[string]int{
			"<g ": 3, `class="goal"`: 3, `class="line"`: 2, "<title>": 2 * n,
			`class="floor"`: 2, "floor 0.65": 1, "l4 4 -4 4 -4 -4z": n + 1,
			"rdmatcp call 128 B x 32: of framed call": 1, "p50 x &lt;tcp&gt;": 1,
			"at least 0.6": 1, "at most 1.5": 1, "prefers-color-scheme: dark": 1,
		} {
			if got := strings.Count(text, what); got != want {
				t.Errorf("%d runs: %q %d times, want %d", n, what, got, want)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%d runs: a coordinate is no number\n%s", n, text)
		}
	}
}

// The picture for people has the chosen measures alone, under their titles. The real history has
// all ten.
func TestPictureForPeople(t *testing.T) {
	lines := []Line{sample("aaaaaaa", 0.5, 1.1)}
	var b bytes.Buffer
	chosen := []Choice{{"rdmatcp call 128 B x 32: of framed call", "Speed < framed"}, {"no such row: x", "Nothing"}}
	if err := Draw(&b, lines, chosen); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Count(text, `class="line"`) != 1 || !strings.Contains(text, ">Speed &lt; framed<") || strings.Contains(text, "Nothing") {
		t.Errorf("the picture:\n%s", text)
	}
	f, err := os.Open("../../history.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err = Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(People) != 10 {
		t.Errorf("%d measures, want ten", len(People))
	}
	_, of := measures(lines)
	for _, c := range People {
		if of[c.Measure] == nil {
			t.Errorf("no run has %q", c.Measure)
		}
	}
}
