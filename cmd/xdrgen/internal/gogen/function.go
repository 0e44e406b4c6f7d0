package gogen

import "fmt"

// function is the function that is being written. The emitters of its nested blocks share it.
type function struct {
	names   map[string]int // the base names of its variables, with the number of uses
	usesErr bool           // it needs a variable err

	usesFault bool // it needs a variable fault
	hasFault  bool // the first use of fault declares it
}

// name returns a name for a new variable: base, or base with a number.
func (f *function) name(base string) string {
	if f.names == nil {
		f.names = map[string]int{}
	}
	f.names[base]++
	if k := f.names[base]; k > 1 {
		return fmt.Sprintf("%s%d", base, k)
	}
	return base
}
