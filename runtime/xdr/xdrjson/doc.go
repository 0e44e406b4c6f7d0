// Package xdrjson converts generated types to JSON and back. Types that xdrgen gen -with json
// generates have MarshalJSON and UnmarshalJSON, which call this package, so that programs use
// package encoding/json.
//
// The command xdrgen json has the same form, which xdrgen help json describes: MarshalJSON returns
// the text that xdrgen json -bare -compact prints for the encoded value, byte for byte. Numbers of
// 64 bits are strings of digits, so that no reader rounds them.
//
// [Unmarshal] is strict, as the decoders of XDR are: it refuses a key that is unknown, missing or
// there twice, a value of another type, also null, text that is not UTF-8, and a value that the
// type's encoder refuses. Its errors have the path of the fault, its line and its column. Within
// encoding/json, these count from the start of the generated type's value.
//
// [Marshal] and [Unmarshal] also convert structs and unions that have no such methods.
//
// The cost is linear in the length of the text, and the memory in use follows the bytes read:
// a count or a length in the text allocates nothing. Text that nests deeper than 10000 is refused.
package xdrjson
