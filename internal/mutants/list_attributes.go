package main

const (
	attributesFile     = "runtime/xdr/codec/attributes.go"
	attributesSemaFile = "cmd/internal/sema/attributes.go"
)

var attributesTests = []string{"nfs/gen/nfs42", "nfs/gen/nfs42ext"}

// attributesMutants are in values that a bitmap of numbers selects.
var attributesMutants = []mutant{
	{"an unknown attribute is passed over", attributesFile, "				return Fail(xdr.CodeAttribute, 0, uint64(n), 0, path)\n", "				continue\n", attributesTests},
	{"bytes after the last attribute are passed over", attributesFile, "	if err := d.Done(); err != nil {\n", "	if err := d.Done(); err != nil && false {\n", attributesTests},
	{"attributes of an earlier fattr4 stay", attributesFile, "			if a := v.AttributeXDR(uint32(i)*32 + n); word&(1<<n) != 0 && a != nil {\n", "			if a := v.AttributeXDR(uint32(i)*32 + n); word&(1<<n) == 0 && a != nil {\n", attributesTests},
	{"a part is decoded before an unknown attribute is found", attributesFile, "	if err := each(v, mask, path, func(Attribute) error { return nil }); err != nil {\n		return had, err\n	}\n", "", attributesTests},
	{"a mask stays after an error", attributesFile, "	had = had[:0]\n", "", attributesTests},
	{"zeros at the end of a bitmap stay", attributesFile, "	for len(mask) > 0 && mask[len(mask)-1] == 0 {\n", "	for len(mask) > 0 && mask[len(mask)-1] == 0 && false {\n", attributesTests},
	{"attributes are out of order", attributesFile, "		for n := uint32(i) * 32; word != 0; n, word = n+1, word>>1 {\n", "		for n := uint32(i)*32 ^ 1; word != 0; n, word = n+1, word>>1 {\n", attributesTests},
	{"a number beyond the bitmap is there", attributesFile, "	return uint64(n/32) < uint64(len(mask)) && mask[n/32]&(1<<(n%32)) != 0", "	return uint64(n/32) >= uint64(len(mask)) || mask[n/32]&(1<<(n%32)) != 0", attributesTests},
	{"two attributes have one number", attributesSemaFile, "		if first := numbers[item.Number]; first != nil {\n", "		if first := numbers[item.Number]; first != nil && false {\n", semaTests},
	{"the attributes of included units are lost", attributesSemaFile, "range append(l.u.imports[:len(l.u.imports):len(l.u.imports)], l.u)", "range []*unit{l.u}", semaTests},
	{"bounded data hold attributes", attributesSemaFile, " && !values.Bounded", "", semaTests},
}
