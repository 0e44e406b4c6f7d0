package codectest

import (
	"errors"
	"fmt"
	"testing"
)

// light is an enum in the form of generated ones: 1 is RED, 2 GREEN, and 7 a wrong name for it.
type light int32

func (v light) String() string {
	switch v {
	case 1:
		return "RED"
	case 2, 7:
		return "GREEN"
	case 10:
		return "TEN"
	}
	return fmt.Sprintf("light(%d)", int32(v))
}

func (v light) Valid() bool { return v == 1 || v == 2 || v == 7 || v == 9 }

func parseLight(s string) (light, error) {
	for v := range light(9) {
		if s == v.String() && v.Valid() {
			return v, nil
		}
	}
	return 0, errors.New("unknown")
}

func TestEnum(t *testing.T) {
	Enum(t, []light{1, 2}, parseLight)
	for name, c := range map[string]struct {
		all   []light
		parse func(string) (light, error)
	}{
		"a number that is no member":        {[]light{1, 2, 3}, parseLight},
		"two with one name":                 {[]light{1, 2, 7}, parseLight},
		"out of order":                      {[]light{2, 1}, parseLight},
		"one twice":                         {[]light{1, 1}, parseLight},
		"a name for a number that has none": {[]light{9}, func(string) (light, error) { return 9, nil }},
		"every name is read":                {nil, func(string) (light, error) { return 1, nil }},
	} {
		if enum(c.all, c.parse) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
