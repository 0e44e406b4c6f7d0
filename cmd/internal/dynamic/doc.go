// Package dynamic decodes and encodes XDR (RFC 4506) by a resolved type, without
// generated code. It converts bytes to a tree of values, a tree to bytes, and a
// tree to JSON and back.
//
// Decoding and encoding check every rule of RFC 4506: bounds, zero padding,
// booleans of 0 and 1, enumerators, discriminants, and no bytes left over. If
// the input breaks a rule, the result is an [Error] with the path, the offset
// and the rule; Decode also returns the part of the tree that it decoded.
//
// The input bounds memory and time: nothing is allocated for a count before its
// elements are read. [Limits] bounds the number of values, since elements may
// take no bytes on the wire, and the depth of recursive types. A linked list is
// read in a loop and becomes an array.
//
// # JSON form
//
//	int, unsigned int        number
//	hyper, unsigned hyper    string of digits, as readers lose precision above 2^53; or a number
//	float, double            number; "NaN", "NaN:" and its bits in hex, "Infinity", "-Infinity"
//	quadruple, opaque        string of hex digits
//	string                   string if it is UTF-8, else {"hex": "..."}
//	bool                     true, false
//	enum                     name of the member; a number if an open enum has no name for it
//	struct, arguments        object with all fields, by their XDR names
//	union                    {"discriminant": value, "arm": value}; a void arm has no "arm"
//	array, linked list       array; the elements of a list are objects without the next pointer
//	optional (type *name)    null or the value; {"value": ...} if the value can be null
package dynamic
