package main

var (
	memfsTests = []string{"nfs/memfs"}
	iofsTests  = []string{"nfs/iofs"}
)

// vfsMutants are in file systems that nfsd serves.
var vfsMutants = []mutant{
	{"an ID of another memory leads to a file", "nfs/memfs/memfs.go", "\tif i == nil || binary.BigEndian.Uint64(id[8:]) != m.instance {", "\tif i == nil {", memfsTests},
	{"memory has no limit", "nfs/memfs/memfs.go", "\tif n > m.size-m.used {", "\tif false {", memfsTests},
	{"removed data keeps its memory", "nfs/memfs/memfs.go", "\tif i.opens == 0 && i.attr.Links == 0 {", "\tif false {", memfsTests},
	{"an open file loses its data when it is removed", "nfs/memfs/memfs.go", "\tif i.opens == 0 && i.attr.Links == 0 {", "\tif i.attr.Links == 0 {", memfsTests},
	{"a removed entry is listed", "nfs/memfs/directory.go", "\t\tif d.order[i].inode != nil {", "\t\tif d.order[i].cookie != 0 {", memfsTests},
	{"a cookie is used again", "nfs/memfs/directory.go", "\td.last = max(d.last, parentCookie) + 1", "\td.last = uint64(len(d.byName)) + parentCookie + 1", memfsTests},
	{"a hole has former data", "nfs/memfs/data.go", "\t\tclear(p[n:part])", "\t\t_ = n", memfsTests},
	{"a file that was cut keeps a page", "nfs/memfs/data.go", "\t\t\tpage = bytes.Clone(page[:keep])", "\t\t\t_ = bytes.Clone(page[:keep])", memfsTests},
	{"a directory moves below itself", "nfs/memfs/change.go", "\t\t\tif up == e.inode {", "\t\t\tif false {", memfsTests},
	{"a directory with names is replaced", "nfs/memfs/change.go", "\tcase over.dir != nil && len(over.dir.byName) > 0:", "\tcase false:", memfsTests},
	{"the parent of a directory that moved is the former one", "nfs/memfs/change.go", "\t\ti.dir.parent = n.i", "", memfsTests},
	{"two names of one file become one", "nfs/memfs/change.go", "\tcase over.inode == e.inode:\n\t\treturn nil", "", memfsTests},
	{"a file larger than the cache is read from its beginning alone", "nfs/iofs/node.go", "io.CopyN(io.Discard, f, off)", "io.CopyN(io.Discard, f, 0)", iofsTests},
	{"a file system without changes is taken for another", "nfs/nfsd/server.go", "\tcfg.ReadOnly = cfg.ReadOnly || info.ReadOnly", "", []string{"nfs/nfsd"}},
	{"a directory of the system goes through links", "nfs/localfs/node.go", "\tif !n.Mode.IsDir() {\n\t\treturn \"\", vfs.ErrNotDir\n\t}", "", []string{"nfs/localfs"}},
	{"a new name is below a directory without an ID", "nfs/localfs/node.go", "\tif _, err := dir.ID(); err != nil { // the table leads from the new name to the root\n\t\treturn err\n\t}", "", []string{"nfs/localfs"}},
	{"a name has an ID, its directory none", "nfs/localfs/node.go", "\tif _, err := n.dir.ID(); err != nil { // the table leads from the name to the root\n\t\treturn vfs.ID{}, err\n\t}", "", []string{"nfs/localfs"}},
	{"a stale file is NFS3ERR_IO", "nfs/nfsd/status.go", "\t{vfs.ErrStale, nfs3.StatusStale},", "", []string{"nfs/nfsd"}},
	{"the kernel follows links", "nfs/localfs/beneath_linux.go", "resolve: noSymlinks | onlyBeneath}", "resolve: 0}", []string{"nfs/localfs"}},
	{"each directory of a path is opened", "nfs/localfs/beneath_linux.go", "func (b *beneath) is(path string) bool { return b.use && strings.Contains(path, \"/\") }", "func (b *beneath) is(path string) bool { return false && strings.Contains(path, \"/\") }", []string{"nfs/localfs"}},
	{"attributes by openat2 leave their file open", "nfs/localfs/beneath_linux.go", "\t_ = syscall.Close(fd)\n\treturn statOfSystem", "\treturn statOfSystem", []string{"nfs/localfs"}},
	{"a path through a link is not left to os.Root", "nfs/localfs/beneath_linux.go", "\t\treturn st, errors.Is(err, fs.ErrNotExist), err", "\t\treturn st, true, err", []string{"nfs/localfs"}},
	{"openat2 takes the sticky bit from attributes", "nfs/localfs/beneath_linux.go", "\t\tmode |= fs.ModeSticky", "", []string{"nfs/localfs"}},
	{"the data of a file is kept without a limit", "nfs/iofs/cache.go", "\tfor c.bytes+bytes > c.most {", "\tfor false {", iofsTests},
	{"files are read without a limit at once", "nfs/iofs/cache.go", "\t\t\tc.freed.Wait()\n\t\t\tcontinue", "\t\t\tbreak", iofsTests},
	{"data that was dropped is kept", "nfs/iofs/cache.go", "\t\tc.files[0].kept = nil", "", iofsTests},
	{"a failed read keeps its memory", "nfs/iofs/cache.go", "\tc.bytes -= bytes", "", iofsTests},
	{"a wrong checksum is not noticed", "nfs/iofs/node.go", "\tif err := atEnd(f); err != nil {\n\t\treturn nil, err\n\t}", "", iofsTests},
	{"a wrong checksum of a large file is not noticed", "nfs/iofs/node.go", "\tif off+int64(n) == size {", "\tif false {", iofsTests},
	{"a file that became shorter is read without end", "nfs/iofs/node.go", "\t\terr = io.ErrUnexpectedEOF", "", iofsTests},
	{"a long name is served", "nfs/iofs/iofs.go", "len(name) <= vfs.MaxName && ", "", iofsTests},
	{"a name with a slash is served", "nfs/iofs/iofs.go", "strings.ContainsAny(name, \"/\\x00\")", "strings.ContainsAny(name, \"\\x00\")", iofsTests},
	{"a long path is served", "nfs/iofs/iofs.go", " || len(p) > maxPath) {", ") {", iofsTests},
	{"each name keeps its path", "nfs/iofs/iofs.go", "strings.Clone(path.Base(p))", "path.Base(p)", iofsTests},
	{"a file has files below it", "nfs/iofs/iofs.go", "\tif dir == nil || dir.byName == nil {", "\tif dir == nil {", iofsTests},
	{"a page has no cost", "nfs/memfs/data.go", "\t\t\tmore += perPage", "", memfsTests},
	{"a page that was cut off keeps its cost", "nfs/memfs/data.go", "\t\t\tless += perPage\n", "", memfsTests},
	{"an emptied file keeps its map", "nfs/memfs/data.go", "\td.pages = kept", "\tfor number := range d.pages {\n\t\tif kept[number] == nil {\n\t\t\tdelete(d.pages, number)\n\t\t} else {\n\t\t\td.pages[number] = kept[number]\n\t\t}\n\t}", memfsTests},
	{"a name has no cost", "nfs/memfs/memfs.go", "return perName + int64(len(name))", "return int64(len(name))", memfsTests},
	{"an emptied directory keeps its lists", "nfs/memfs/directory.go", "\tif len(d.order) <= 2*len(d.byName) {", "\tif true {", memfsTests},
	{"a panic leaves the tree locked for reading", "nfs/nfsd/files.go", "\tdefer s.tree.RUnlock()\n\to, err := s.tree.object(&args.Object)\n\tif err != nil {\n\t\treturn err\n\t}\n\tlock := s.tree.inode(o.ino())", "\to, err := s.tree.object(&args.Object)\n\tif err != nil {\n\t\ts.tree.RUnlock()\n\t\treturn err\n\t}\n\tdefer func() {\n\t\tfault := recover()\n\t\tif fault != nil {\n\t\t\tpanic(fault)\n\t\t}\n\t\ts.tree.RUnlock()\n\t}()\n\tlock := s.tree.inode(o.ino())", []string{"nfs/nfsd"}},
	{"a panic leaves the names locked", "nfs/nfsd/names.go", "\treturn s.tree.Unlock\n", "\treturn func() {\n\t\tif fault := recover(); fault != nil {\n\t\t\tpanic(fault)\n\t\t}\n\t\ts.tree.Unlock()\n\t}\n", []string{"nfs/nfsd"}},
	{"a refused change waits for all calls", "nfs/nfsd/names.go", "\tif s.cfg.ReadOnly {\n\t\ts.tree.RLock()", "\tif false {\n\t\ts.tree.RLock()", []string{"nfs/nfsd"}},
	{"the search for openat2 leaves a file open", "nfs/localfs/beneath_linux.go", "\t\tb.use = true\n\t\t_ = syscall.Close(fd)", "\t\tb.use = true\n\t\t_ = fd", []string{"nfs/localfs"}},
}
