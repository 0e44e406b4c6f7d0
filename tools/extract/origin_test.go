package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// place is the origin of a line in a .x file, as read from an origin map.
type place struct {
	file    string // below spec/
	num     int
	erratum string
}

// readOrigin reads an origin map as doc.go describes it.
func readOrigin(data string) (doc string, places []place, err error) {
	rows := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	w := strings.Split(rows[0], " ")
	if len(w) != 3 || w[0] != "xdr-origin" || w[1] != "1" {
		return "", nil, fmt.Errorf("first line %q", rows[0])
	}
	for _, row := range rows[1:] {
		f := strings.Split(row, " ")
		a, b, isRange := strings.Cut(f[0], "-")
		if !isRange {
			b = a
		}
		first, err1 := strconv.Atoi(a)
		last, err2 := strconv.Atoi(b)
		at, err3 := strconv.Atoi(f[len(f)-1])
		if err1 != nil || err2 != nil || err3 != nil || first != len(places)+1 || last < first || isRange && last == first {
			return "", nil, fmt.Errorf("run %q after %d lines", row, len(places))
		}
		for i := first; i <= last; i++ {
			switch {
			case len(f) == 3:
				places = append(places, place{f[1], at + i - first, ""})
			case len(f) == 5 && f[1] == "errata":
				places = append(places, place{"errata/" + f[2], at + i - first, f[3]})
			default:
				return "", nil, fmt.Errorf("run %q", row)
			}
		}
	}
	return w[2], places, nil
}

func TestOriginMap(t *testing.T) {
	lines := []xdrdoc.Line{{Text: "a", Num: 5}, {Text: "b", Num: 6}, {Text: "c", Num: 9}, {Text: "d", Num: 3, Erratum: "P1"}, {Text: "e", Num: 4, Erratum: "P1"}, {Text: "f", Num: 5, Erratum: "P2"}, {Text: "g", Num: 6}}
	const want = "xdr-origin 1 doc.txt\n1-2 doc.txt 5\n3 doc.txt 9\n4-5 errata doc.txt P1 3\n6 errata doc.txt P2 5\n7 doc.txt 6\n"
	if got := string(originMap("doc.txt", lines)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := string(originMap("doc.txt", nil)); got != "xdr-origin 1 doc.txt\n" {
		t.Errorf("no lines: got %q", got)
	}
}

// specDir is the path of the project's spec folder.
const specDir = "../../spec"

// TestOriginOfSpec follows every line of every extracted file to its source and compares the two.
func TestOriginOfSpec(t *testing.T) {
	maps, err := filepath.Glob(filepath.Join(specDir, "x", "*", "*.x.origin"))
	if err != nil || len(maps) < 5 {
		t.Fatalf("found %d origin maps, %v; want one for each of five files", len(maps), err)
	}
	for _, name := range maps {
		t.Run(filepath.Base(name), func(t *testing.T) {
			doc, places, err := readOrigin(readFile(t, name))
			if err != nil {
				t.Fatal(err)
			}
			x := fileLines(readFile(t, strings.TrimSuffix(name, ".origin")))
			if len(x) != len(places) {
				t.Fatalf("%d lines, %d places", len(x), len(places))
			}
			fromDoc := 0
			for i, p := range places {
				if p.file != doc && p.file != "errata/"+doc {
					t.Errorf("line %d comes from %s, not from %s", i+1, p.file, doc)
				}
				source := fileLines(readFile(t, filepath.Join(specDir, p.file)))[p.num-1]
				if p.erratum != "" {
					if source != "+"+x[i] {
						t.Errorf("line %d is %q, %s:%d is %q", i+1, x[i], p.file, p.num, source)
					}
					continue
				}
				fromDoc++
				// a row in a table of sizes: NAME and number
				if words := strings.Fields(source); len(words) == 2 && x[i] == "const "+words[0]+" = "+words[1]+";" {
					continue
				}
				// the marker and one blank, or the indentation, is all that may be missing
				rest, ok := strings.CutSuffix(source, x[i])
				if lead := strings.TrimSpace(rest); !ok || lead != "" && lead != "///" {
					t.Errorf("line %d is %q, %s:%d is %q", i+1, x[i], p.file, p.num, source)
				}
			}
			if fromDoc == 0 {
				t.Error("no line comes from the document")
			}
		})
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fileLines splits a text without the code under test.
func fileLines(s string) []string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r\f")
	}
	return lines
}
