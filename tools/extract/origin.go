package main

import (
	"bytes"
	"fmt"
)

const originHeader = "xdr-origin 1 "

// originMap returns the origin map of a file extracted from doc, in the format that doc.go
// describes.
func originMap(doc string, lines []line) []byte {
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
		if l := lines[first]; l.erratum != "" {
			fmt.Fprintf(&b, " errata %s %s %d\n", doc, l.erratum, l.num)
		} else {
			fmt.Fprintf(&b, " %s %d\n", doc, l.num)
		}
		first = last + 1
	}
	return b.Bytes()
}

func follows(a, b line) bool { return a.erratum == b.erratum && b.num == a.num+1 }

// text returns the bytes of a .x file.
func text(lines []line) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}
