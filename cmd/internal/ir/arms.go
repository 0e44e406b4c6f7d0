package ir

// Arms has the arms of a union by the values that select them.
type Arms struct {
	Own   map[int64]*Arm // arms by the values of their cases
	Other *Arm           // the default, or nil
}

// ArmsOf returns the arms of a union.
func ArmsOf(union *Decl) Arms {
	out := Arms{Own: map[int64]*Arm{}}
	for _, a := range union.Arms {
		if a.Default {
			out.Other = a
		}
		for _, l := range a.Labels {
			out.Own[l.Value.Int64()] = a
		}
	}
	return out
}

// At returns the arm for a value: the one with a case for it, the default, or nil.
func (a Arms) At(v int64) *Arm {
	if own := a.Own[v]; own != nil {
		return own
	}
	return a.Other
}
