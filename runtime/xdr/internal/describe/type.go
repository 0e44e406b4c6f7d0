package describe

import (
	"reflect"
	"sort"
	"sync"
)

// Struct describes a Go struct type.
type Struct struct {
	Fields   []Tag // of all Go fields, in their order; a field without a tag has its Go name
	Switch   int   // the discriminant of a union, an index into Fields; -1 if it is no union
	Optional bool  // the type is an instance of xdr.Optional, or a type that is declared as one
	Whole    bool  // the type is a typedef of a pointer, and has the value of its only field

	arms  []arm // sorted by discriminant
	other int   // the arm for other discriminants, as in arm
}

// arm is a discriminant and its arm.
type arm struct {
	disc  int64
	field int // index into Fields; void or none
}

// Arms without a field.
const (
	void = -1 // the arm has no data
	none = -2 // no arm is selected
)

var cache sync.Map // of *Struct by reflect.Type

// Of describes a struct type. It panics if t is not one.
func Of(t reflect.Type) *Struct {
	if s, ok := cache.Load(t); ok {
		return s.(*Struct)
	}
	s, _ := cache.LoadOrStore(t, read(t))
	return s.(*Struct)
}

// read reads the tags of a struct type.
func read(t reflect.Type) *Struct {
	s := &Struct{Switch: -1, other: none, Fields: make([]Tag, t.NumField())}
	for i := range s.Fields {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("xdr")
		if !ok {
			tag = f.Name
		}
		s.Fields[i] = Parse(tag)
	}
	for i, f := range s.Fields {
		s.add(i, f)
	}
	sort.SliceStable(s.arms, func(i, j int) bool { return s.arms[i].disc < s.arms[j].disc })
	return s
}

// add adds what the tag of field i says about the struct.
func (s *Struct) add(i int, f Tag) {
	target := i
	switch {
	case f.Whole:
		s.Whole = len(s.Fields) == 1
	case f.Presence:
		s.Optional = len(s.Fields) == 2 && i == 1
	case f.Switch:
		s.Switch, target = i, void
	}
	for _, n := range f.Cases {
		s.arms = append(s.arms, arm{n, target})
	}
	if f.Default {
		s.other = target
	}
}

// Arm returns the arm of a union that a discriminant selects, as an index into Fields: -1 for a
// void arm. It returns false if the union has no arm for it.
func (s *Struct) Arm(disc int64) (field int, ok bool) {
	i := sort.Search(len(s.arms), func(i int) bool { return s.arms[i].disc >= disc })
	if i < len(s.arms) && s.arms[i].disc == disc {
		return s.arms[i].field, true
	}
	return s.other, s.other != none
}
