package stranger

import (
	"bytes"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
)

//go:embed testdata/*.txt
var files embed.FS

// Vector is a connection in octets, from a file of testdata. testdata/README.md has the format.
type Vector struct {
	Name   string
	CRC    bool       // CRCs are in use
	Choice [2]bool    // this end may cut its messages otherwise: responder, initiator
	Frames [2]Startup // of the responder, of the initiator
	Steps  []Step

	vars map[string][]byte
}

// Step is a line of a Vector: octets, or an act of one end.
type Step struct {
	Line      int
	Initiator bool
	Words     []string // an act
	Octets    []piece  // octets, if Words is empty
	Sealed    bool     // the CRC of the octets is right
}

// piece is literal octets, or a variable plus a number.
type piece struct {
	literal []byte
	name    string
	plus    uint64
}

// Vectors returns all vectors.
func Vectors() ([]*Vector, error) {
	entries, err := files.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	var all []*Vector
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("testdata", e.Name()))
		if err != nil {
			return nil, err
		}
		v := &Vector{Name: strings.TrimSuffix(e.Name(), ".txt"), vars: make(map[string][]byte)}
		for i, line := range strings.Split(string(text), "\n") {
			if err := v.line(i+1, line); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", e.Name(), i+1, err)
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// line reads a line.
func (v *Vector) line(n int, line string) error {
	words := fields(line)
	if len(words) == 0 || words[0][0] == '#' {
		return nil
	}
	switch words[0] {
	case "let":
		b, err := hex.DecodeString(words[3])
		v.vars[words[1]] = b
		return err
	case "crc":
		v.CRC = words[1] == "on"
	case "choice":
		v.Choice[end(words[1])] = true
	case "startup":
		return v.startup(words)
	case ">", "<":
		s := Step{Line: n, Initiator: words[0] == ">"}
		for _, w := range words[1:] {
			p, err := v.piece(w)
			if err != nil {
				return err
			}
			s.Octets = append(s.Octets, p)
		}
		b := v.Expand(s)
		s.Sealed = isFPDU(b) && bytes.Equal(b, Reseal(bytes.Clone(b)))
		v.Steps = append(v.Steps, s)
	case "i", "r":
		v.Steps = append(v.Steps, Step{Line: n, Initiator: words[0] == "i", Words: words[1:]})
	case "region", "post":
		act := append([]string{words[0]}, words[2:]...)
		v.Steps = append(v.Steps, Step{Line: n, Initiator: words[1] == "i", Words: act})
	default:
		return fmt.Errorf("unknown word %q", words[0])
	}
	return nil
}

// end returns the index of an end.
func end(word string) int {
	if word == "i" {
		return 1
	}
	return 0
}

// fields splits a line into words. A text in quotes has spaces of its own, and a bar is no word.
func fields(line string) []string {
	quoted := false
	return strings.FieldsFunc(line, func(r rune) bool {
		if r == '\'' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '|')
	})
}

// startup reads the frame of one end.
func (v *Vector) startup(words []string) error {
	s := Startup{Reply: words[1] == "r"}
	flags := map[string]*bool{
		"crc": &s.CRC, "reject": &s.Reject, "enhanced": &s.Enhanced, "a": &s.PeerToPeer,
		"send": &s.SendRTR, "write": &s.WriteRTR, "read": &s.ReadRTR,
	}
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		number, _ := strconv.Atoi(value)
		switch {
		case flags[key] != nil:
			*flags[key] = true
		case key == "rev":
			s.Revision = byte(number)
		case key == "ird":
			s.IRD = uint16(number)
		case key == "ord":
			s.ORD = uint16(number)
		case key == "private":
			b, err := literal(value)
			if err != nil {
				return err
			}
			s.Private = b
		default:
			return fmt.Errorf("unknown word %q", w)
		}
	}
	v.Frames[end(words[1])] = s
	return nil
}

// literal returns the octets of hex digits and texts in quotes, without spaces between them.
func literal(w string) (b []byte, err error) {
	for i, part := range strings.Split(w, "'") {
		octets := []byte(part)
		if i%2 == 0 {
			if octets, err = hex.DecodeString(part); err != nil {
				return nil, err
			}
		}
		b = append(b, octets...)
	}
	return b, nil
}

// piece reads a word of octets.
func (v *Vector) piece(w string) (p piece, err error) {
	name, ok := strings.CutPrefix(w, "$")
	if !ok {
		p.literal, err = literal(w)
		return p, err
	}
	p.name, name, _ = strings.Cut(name, "+")
	if name != "" {
		p.plus, err = strconv.ParseUint(name, 10, 64)
	}
	if v.vars[p.name] == nil {
		return p, fmt.Errorf("unknown variable %q", p.name)
	}
	return p, err
}

// value returns the octets of a piece.
func (v *Vector) value(p piece) []byte {
	if p.name == "" {
		return p.literal
	}
	return number(toUint(v.vars[p.name])+p.plus, len(v.vars[p.name]))
}

func toUint(b []byte) (n uint64) {
	for _, octet := range b {
		n = n<<8 | uint64(octet)
	}
	return n
}

// number returns the last size octets of n.
func number(n uint64, size int) []byte {
	return binary.BigEndian.AppendUint64(nil, n)[8-size:]
}

// Expand returns the octets of a step, with the variables as they are.
func (v *Vector) Expand(s Step) (b []byte) {
	for _, p := range s.Octets {
		b = append(b, v.value(p)...)
	}
	return b
}

// isFPDU reports whether octets are an FPDU rather than a startup frame.
func isFPDU(b []byte) bool { return !strings.HasPrefix(string(b), "MPA ID R") }
