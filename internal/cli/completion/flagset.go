package completion

import "flag"

// Flags returns the flags of a flag set, sorted by name. values has the words that a flag
// may have. A flag that is not there has any value, which is not completed.
func Flags(set *flag.FlagSet, values map[string][]string) []Flag {
	var out []Flag
	set.VisitAll(func(f *flag.Flag) {
		fl := Flag{Name: "-" + f.Name, Long: f.Name, Kind: AnyValue, Values: values[f.Name]}
		if fl.Values != nil {
			fl.Kind = OneOf
		}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			fl.Kind = NoValue
		}
		out = append(out, fl)
	})
	return out
}
