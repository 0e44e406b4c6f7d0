package rdmaiotest

import "testing"

// The search finds each history that is linearizable, and no other.
func TestSearchFindsLinearizableHistories(t *testing.T) {
	for name, c := range map[string]struct {
		h    []Swap
		want bool
	}{
		"nothing":                              {nil, true},
		"one after the other":                  {[]Swap{{Begin: 1, End: 2, Put: 5}, {Begin: 3, End: 4, Put: 6, Got: 5}}, true},
		"two at a time, the later first":       {[]Swap{{Begin: 1, End: 4, Put: 5, Got: 6}, {Begin: 2, End: 3, Put: 6}}, true},
		"the later first, one after the other": {[]Swap{{Begin: 1, End: 2, Put: 5, Got: 6}, {Begin: 3, End: 4, Put: 6}}, false},
		"a value from nowhere":                 {[]Swap{{Begin: 1, End: 2, Put: 5, Got: 7}}, false},
		"an old value":                         {[]Swap{{Begin: 1, End: 2, Put: 5}, {Begin: 3, End: 4, Read: true}}, false},
		"executed twice":                       {[]Swap{{Begin: 1, End: 2, Put: 5, Got: 5}}, false},
		"executed again later":                 {[]Swap{{Begin: 1, End: 2, Put: 5}, {Begin: 3, End: 4, Put: 6, Got: 5}, {Begin: 5, End: 6, Read: true, Got: 5}}, false},
		"two that both came first":             {[]Swap{{Begin: 1, End: 4, Put: 5}, {Begin: 2, End: 3, Put: 6}}, false},
		"lost, and had its effect late":        {[]Swap{{Begin: 1, Put: 5, Lost: true}, {Begin: 2, End: 3, Read: true}, {Begin: 4, End: 5, Read: true, Got: 5}}, true},
		"lost, and never had it":               {[]Swap{{Begin: 1, Put: 5, Lost: true}, {Begin: 2, End: 3, Read: true}}, true},
		"lost, and had it twice": {[]Swap{
			{Begin: 1, Put: 5, Lost: true}, {Begin: 2, End: 3, Read: true, Got: 5}, {Begin: 4, End: 5, Put: 6, Got: 5}, {Begin: 6, End: 7, Read: true, Got: 5},
		}, false},
		"lost, and had it before it began": {[]Swap{{Begin: 1, End: 2, Read: true, Got: 5}, {Begin: 3, Put: 5, Lost: true}}, false},
		"too many to say":                  {make([]Swap, MaxSwaps+1), false},
	} {
		if got := Linearizable(c.h); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
