// Package plan turns the resolved form of a unit (package ir) into a plan: a step for each type
// that the unit uses, with the facts that back ends need, each decided once.
//
// The back end has two stages. This is the first; the second is an emitter for each kind of output,
// such as encoders, decoders, sizes and views. An emitter is a fold over steps:
//
//	switch s.Op {
//	case plan.Word: ...           // one case for each kind of step
//	case plan.Loop: ... s.Elem    // a step has the steps of its parts
//	case plan.Struct: ... s.Of.Fields
//	}
//
// A step says how a value is laid out on the wire: a word, fixed or counted opaque data, a loop, an
// array, optional data, a list, a struct, a union. The step of a named type has the type's plan as
// Of, which all uses share, so that the plan does not outgrow the input. The flags of a step say
// which emitters write the type out and which call its methods instead (ADR 0005).
//
// Emitters join neighbouring steps to a run, which has one length check. InRun reports whether a
// step can be a part of a run.
//
//	plan.go     the plan: types, fields, arms, steps
//	make.go     steps from types; decide.go the flags of steps
//	typedef.go  typedefs and the types under them
//	weight.go   the amount of code that types need; check.go the same for check-only readers
//	costs.go    what values cost, for lint and sizes
//	memory.go   the memory of Go values; repeated.go types that a message holds many times
//	amplify.go  the memory that a message can make a decoder use
//	reduce.go   items that may be left out of line
//	lists.go    the lists at which a scan stops
//	large.go    data that no Go type can hold
//	compact.go  types that procedures take or return; zero.go values that are emptied as a whole
//	value.go    types whose Go values hold memory; unbounded.go the size of replies
//	string.go   the plan as text, for tests and for debugging
package plan
