package v2

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// HostAuthRoom returns the size in bytes of the longest host authentication property that fits a
// message of send bytes, together with the properties in set.
func HostAuthRoom(send int, set []header.Property) int {
	room := send - prefixSize - 4 - 12 // the number of properties; id and the two lengths
	for _, p := range set {
		room -= 8 + int(xdr.Padded(len(p.Data)))
	}
	return room &^ 3
}

// SplitHostAuth returns the value of the host authentication property in a set that Learn has
// accepted, and whether it is there. rest has the XDR of all other properties, ordered by code,
// which is the same at both ends.
func SplitHostAuth(set []header.Property) (value []byte, found bool, rest []byte) {
	sorted := slices.Clone(set)
	slices.SortStableFunc(sorted, func(a, b header.Property) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range sorted {
		if p.ID == rpcrdma2.PropIDHostAuth {
			n := binary.BigEndian.Uint32(p.Data)
			value, found = p.Data[4:4+n:4+n], true
			continue
		}
		rest = binary.BigEndian.AppendUint32(rest, p.ID)
		rest = binary.BigEndian.AppendUint32(rest, uint32(len(p.Data)))
		rest = append(rest, p.Data...)
		rest = append(rest, make([]byte, xdr.Padded(len(p.Data))-len(p.Data))...)
	}
	return value, found, rest
}
