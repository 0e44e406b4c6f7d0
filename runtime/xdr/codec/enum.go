package codec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Enum describes an enum: the names of its members in the order of their numbers. Of members with
// one number, the first in the .x file comes first.
type Enum struct {
	Name    string // in the .x file
	Open    bool   // numbers without a member are values, too
	First   int32  // the number of the first member
	Numbers []int32
	Names   []string // in the .x file
}

// number returns the number of member i. Without Numbers they are consecutive from First.
func (e *Enum) number(i int) int32 {
	if e.Numbers == nil {
		return e.First + int32(i)
	}
	return e.Numbers[i]
}

// String returns the name of a value, such as NFS3_OK, or nfsstat3(77) if no member has it.
func (e *Enum) String(v int32) string {
	if i, ok := e.find(v); ok {
		return e.Names[i]
	}
	return e.Name + "(" + strconv.Itoa(int(v)) + ")"
}

// find returns the index of the first member with a number.
func (e *Enum) find(v int32) (int, bool) {
	if e.Numbers == nil {
		i := int64(v) - int64(e.First)
		return int(i), 0 <= i && i < int64(len(e.Names))
	}
	return slices.BinarySearch(e.Numbers, v)
}

// Member returns the name of a value, if a member has it.
func (e *Enum) Member(v int32) (name string, ok bool) {
	i, ok := e.find(v)
	if !ok {
		return "", false
	}
	return e.Names[i], true
}

// ByName returns the numbers of all members by their names.
func (e *Enum) ByName() map[string]int32 {
	out := make(map[string]int32, len(e.Names))
	for i, name := range e.Names {
		out[name] = e.number(i)
	}
	return out
}

// Parse returns the number of a member's name. For an open enum it also takes nfsstat3(77), as
// String writes it.
func (e *Enum) Parse(name string) (int32, error) {
	if i := slices.Index(e.Names, name); i >= 0 {
		return e.number(i), nil
	}
	if text, ok := strings.CutPrefix(name, e.Name+"("); ok && e.Open {
		text, closed := strings.CutSuffix(text, ")")
		if v, err := strconv.ParseInt(text, 10, 32); err == nil && closed {
			return int32(v), nil
		}
	}
	return 0, e.unknown(name)
}

// maxQuoted is the length at which errors cut a name. Longer names get no suggestion.
const maxQuoted = 64

// unknown returns the error for a name that no member has.
func (e *Enum) unknown(name string) error {
	if len(name) > maxQuoted {
		return fmt.Errorf("xdr: %q... (%d bytes) is not a member of enum %s", name[:maxQuoted], len(name), e.Name)
	}
	for _, n := range e.Names {
		if near(name, n) {
			return fmt.Errorf("xdr: %q is not a member of enum %s: did you mean %s?", name, e.Name, n)
		}
	}
	return fmt.Errorf("xdr: %q is not a member of enum %s: expected a name of the .x file, such as %s", name, e.Name, e.Names[0])
}

// near reports whether two names differ by case, or in one place by at most two bytes.
func near(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 2 && len(b) <= 2
}

// Values returns the values of e in their order, each once. T is the type of the enum.
func Values[T ~int32](e *Enum) []T {
	out := make([]T, 0, len(e.Names))
	for i := range e.Names {
		if i == 0 || e.number(i) != e.number(i-1) {
			out = append(out, T(e.number(i)))
		}
	}
	return out
}
