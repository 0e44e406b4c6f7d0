// Package describe reads the struct tags of generated types, which say about a Go field what XDR
// declares and Go does not: the name in the .x file, the arms of a union, which bytes are text.
// Printers that work by reflection use it.
//
// The fields of a generated struct or union have a tag with the key xdr. Its value is a name and
// words, separated by commas:
//
//	Status  Stat       `xdr:"status,switch,default"`
//	Resok   READ3resok `xdr:"resok,case=0"`
//	Names   []Name     `xdr:"names,string"`
//
// The name is the field's in the .x file. The words are:
//
//	string       the bytes in the value are text, in arrays, lists and optional data too
//	switch       the field is the discriminant of a union; its cases are void arms
//	case=N       the field is the arm for the discriminant N, a decimal; there may be several
//	default      the field is the arm for all other discriminants
//	whole        the struct is a typedef of a pointer: its value is the value of this only field
//	pointer      the arm is behind a pointer; if it is selected, nil is not a value
//	node=N:NAME  a sequence is a linked list whose nodes have the one field NAME; N is
//	             the number of sequences around it in the value
//
// A type that is not a struct or union has no field for a tag. Generated code passes the same text
// with the name of the type: "names,string".
//
// The field Present of xdr.Optional has the tag ",presence": no name, because no field of a .x
// file is meant.
package describe
