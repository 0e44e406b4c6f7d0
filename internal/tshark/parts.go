package tshark

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Part holds the fields that one dissector shows of a packet.
type Part struct {
	Packet int    // from 1
	Proto  string // name of the protocol
	Fields map[string][]string

	// Text has a line for each field, as Wireshark's window shows it.
	Text string
}

// One returns the value of a field that the part has once, or "".
func (p Part) One(name string) string {
	if v := p.Fields[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// Number returns the value of a field that is a number and that the part has once. It fails the
// test otherwise.
func (p Part) Number(tb testing.TB, name string) uint64 {
	tb.Helper()
	all := p.Numbers(tb, name)
	if len(all) != 1 {
		tb.Fatalf("packet %d: %s is %q, want one number", p.Packet, name, p.Fields[name])
	}
	return all[0]
}

// Numbers returns all values of a field, in order. It fails the test if one is no number.
func (p Part) Numbers(tb testing.TB, name string) (all []uint64) {
	tb.Helper()
	for _, v := range p.Fields[name] {
		n, err := strconv.ParseUint(v, 0, 64)
		if err != nil {
			tb.Fatalf("packet %d: %s has %q, want numbers", p.Packet, name, v)
		}
		all = append(all, n)
	}
	return all
}

// Only returns the parts of one of the protocols, in their order.
func Only(all []Part, protos ...string) []Part {
	return slices.DeleteFunc(slices.Clone(all), func(p Part) bool { return !slices.Contains(protos, p.Proto) })
}

// Parts returns what tshark shows of a capture, dissector by dissector in the order of the packets,
// for the given protocols, or for all. A field is listed with all values that it has in a part, in
// the order in which they are shown. Wireshark reads the packets twice, as its window does.
func Parts(tb testing.TB, in Input, protos ...string) (all []Part) {
	tb.Helper()
	type field struct {
		Name   string  `xml:"name,attr"`
		Show   string  `xml:"show,attr"`
		Line   string  `xml:"showname,attr"`
		Fields []field `xml:"field"`
		Protos []field `xml:"proto"`
	}
	args := []string{"-T", "pdml", "-2"}
	if len(protos) > 0 {
		args = append(args, "-J", strings.Join(protos, " "))
	}
	doc := xml.NewDecoder(bytes.NewReader(Run(tb, in, args...)))
	for i := 0; ; {
		token, err := doc.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			tb.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "packet" {
			continue
		}
		var packet field
		if err := doc.DecodeElement(&packet, &start); err != nil {
			tb.Fatal(err)
		}
		i++
		for _, proto := range packet.Protos {
			part := Part{Packet: i, Proto: proto.Name, Fields: map[string][]string{}}
			var lines []string
			var add func(field)
			add = func(f field) {
				for _, below := range append(f.Fields, f.Protos...) {
					if below.Name != "" {
						part.Fields[below.Name] = append(part.Fields[below.Name], below.Show)
					}
					lines = append(lines, below.Line)
					add(below)
				}
			}
			add(proto)
			part.Text = strings.Join(lines, "\n")
			all = append(all, part)
		}
	}
}
