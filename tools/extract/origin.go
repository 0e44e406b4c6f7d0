package main

import (
	"bytes"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

const originHeader = "xdr-origin 1 "

// originMap returns the origin map of a file extracted from doc, in the format that doc.go
// describes.
func originMap(doc string, lines []xdrdoc.Line) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s\n", originHeader, doc)
	for first := 0; first < len(lines); {
		last := first
		for last+1 < len(lines) && follows(lines[last], lines[last+1]) {
			last++
		}
		if last == first {
			fmt.Fprintf(&b, "%d", first+1)
		} else {
			fmt.Fprintf(&b, "%d-%d", first+1, last+1)
		}
		if l := lines[first]; l.Erratum != "" {
			fmt.Fprintf(&b, " errata %s %s %d\n", doc, l.Erratum, l.Num)
		} else {
			fmt.Fprintf(&b, " %s %d\n", doc, l.Num)
		}
		first = last + 1
	}
	return b.Bytes()
}

func follows(a, b xdrdoc.Line) bool { return a.Erratum == b.Erratum && b.Num == a.Num+1 }

// text returns the bytes of a .x file.
func text(lines []xdrdoc.Line) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}
