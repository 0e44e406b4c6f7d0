package codectest

import (
	"fmt"
	"strings"
	"testing"
)

// Enumerator is the constraint for generated enums.
type Enumerator interface {
	~int32
	String() string
	Valid() bool
}

// Enum checks an enum whose values are all, in order: their names are read back as the same values,
// other names are refused, and a number that is no member prints as NAME(NUMBER).
func Enum[T Enumerator](t *testing.T, all []T, parse func(string) (T, error)) {
	t.Helper()
	if err := enum(all, parse); err != nil {
		t.Errorf("%T: %v", *new(T), err)
	}
}

func enum[T Enumerator](all []T, parse func(string) (T, error)) error {
	for i, v := range all {
		if !v.Valid() {
			return fmt.Errorf("%s (%d) is not valid", v, int32(v))
		}
		if got, err := parse(v.String()); err != nil || got != v {
			return fmt.Errorf("%s is %d, and read as %d, %v", v, int32(v), int32(got), err)
		}
		if i > 0 && v <= all[i-1] {
			return fmt.Errorf("%d after %d", int32(v), int32(all[i-1]))
		}
		if other := v + 1; !other.Valid() && !strings.HasSuffix(other.String(), fmt.Sprintf("(%d)", int32(other))) {
			return fmt.Errorf("%d prints as %q", int32(other), other)
		}
	}
	if v, err := parse("no such name"); err == nil {
		return fmt.Errorf("an unknown name is read as %d", int32(v))
	}
	return nil
}
