package dissector

import (
	"cmp"
	"maps"
	"slices"
)

// wireshark has the numbers of the programs that Wireshark 4.0 dissects.
var wireshark = []uint32{
	2112, 100000, 100001, 100003, 100004, 100005, 100007, 100008, 100009, 100011, 100012, 100020, 100021, 100024, 100026,
	100069, 100227, 100231, 100232, 100300, 100302, 150001, 391004, 1001911, 1001912, 1298437, 14398633, 34123456, 1073741824,
}

// known reports whether Wireshark dissects a program.
func known(program uint32) bool {
	_, found := slices.BinarySearch(wireshark, program)
	return found
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
