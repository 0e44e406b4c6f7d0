package goexpr

import "fmt"

// Function is the function that is being written. The emitters of its nested blocks share it.
type Function struct {
	names map[string]int // the base names of its variables, with the number of uses
}

// Name returns a name for a new variable: base, or base with a number.
func (f *Function) Name(base string) string {
	if f.names == nil {
		f.names = map[string]int{}
	}
	f.names[base]++
	if k := f.names[base]; k > 1 {
		return fmt.Sprintf("%s%d", base, k)
	}
	return base
}
