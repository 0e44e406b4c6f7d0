package main

var client4Tests = []string{"nfs/client4"}

// client4Mutants are in the client of NFS versions 4.1 and 4.2.
var client4Mutants = []mutant{
	{"attributes besides the wanted ones are taken", "nfs/client4/names.go", "word&^mask[i] != 0 {", "word&^mask[i] != 0 && false {", client4Tests},
	{"a file without a type is a regular one", "nfs/client4/names.go", "	if !a.Has(nfs42.AttrType) {\n", "	if false {\n", client4Tests},
	{"a name with a slash is listed", "nfs/client4/names.go", "strings.ContainsAny(name, \"/\\x00\")", "strings.ContainsAny(name, \"\\x00\")", client4Tests},
	{"a cookie that comes back is taken", "nfs/client4/readdir.go", "b.n > 0 && cookie == b.seen || ", "", client4Tests},
	{"a reserved cookie is taken", "nfs/client4/readdir.go", "cookie <= 2", "cookie == 0", client4Tests},
	{"a verifier that changes is not noticed", "nfs/client4/data.go", "v.changed = v.changed || v.any && v.verf != verf", "v.changed = v.changed && v.any", client4Tests},
	{"a verifier that changed once changes again", "nfs/client4/data.go", "	v.any, v.changed = false, false\n", "", client4Tests},
	{"parts begin after an error", "nfs/client4/data.go", "if at >= n || ctx.Err() != nil {", "if at >= n {", client4Tests},
	{"data that were not written again are stored", "nfs/client4/data.go", "				f.seen.lose() // the", "				// the", client4Tests},
	{"a size is set before the data are stored", "nfs/client4/file.go", "	if attr.Has(nfs42.AttrSize) {", "	if false {", client4Tests},
	{"a lost session is a file that cannot be reclaimed", "nfs/client4/file.go", "&& refused.Index >= 0 ", "", client4Tests},
	{"a reclaim invites a delegation", "nfs/client4/file.go", "f.access|nfs42.OpenShareAccessWantNoDeleg\n		res", "f.access\n		res", client4Tests},
	{"a file is not opened again after a restart", "nfs/client4/client.go", "	for _, f := range files {", "	for _, f := range files[:0] {", client4Tests},
	{"a list of extended attributes has keys of any length", "nfs/client4/xattr.go", "		if len(k) > maxXattrName {", "		if false {", client4Tests},
	{"a longer path than a COMPOUND loses its beginning", "nfs/client4/names.go", "at, known, list = fh.OK.Object, true, list[maxLookups:]", "at, known, list = fh.OK.Object, false, list[maxLookups:]", client4Tests},
	{"a file opened for reading can be written", "nfs/client4/file.go", "	default:\n		f.access = nfs42.OpenShareAccessRead\n", "	default:\n		f.access = nfs42.OpenShareAccessBoth\n", client4Tests},
}
