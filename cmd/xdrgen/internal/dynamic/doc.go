// Package dynamic reads and writes XDR (RFC 4506) by a resolved type, with no
// generated code: bytes become a tree of values, a tree becomes bytes, and a
// tree becomes JSON and is read from it.
//
// Both ways every rule of RFC 4506 is checked: bounds, zero padding, booleans
// of 0 and 1, enumerators, discriminants, and that nothing is left over. What
// breaks one is an [Error] with the path, the offset and the rule; Decode then
// also returns the tree as far as it came.
//
// Memory and time are bounded by the input: no count is believed before its
// elements are there, elements of no wire size are limited by number
// ([Limits]), and so is the nesting of types that hold themselves. Linked
// lists are read by a loop and are arrays here.
//
// # JSON form
//
//	int, unsigned int        number
//	hyper, unsigned hyper    string of decimal digits, since a number loses precision above 2^53 in most readers; a number is read too
//	float, double            number; "NaN", "NaN:" and its bits in hex, "Infinity", "-Infinity"
//	quadruple, opaque        string of hex digits
//	string                   string where it is UTF-8, else {"hex": "..."}
//	bool                     true, false
//	enum                     name of the member; the number where an open enum has no name for it
//	struct, arguments        object with all fields, by their XDR names
//	union                    {"discriminant": value, "arm": value}, without "arm" where that is void
//	array, linked list       array; the elements of a list are objects without the pointer
//	optional (type *name)    null or the value; {"value": ...} where the value itself can be null
package dynamic
