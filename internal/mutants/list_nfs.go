package main

var nfsdTests = []string{"examples/nfs3/nfsd"}

// nfsMutants are in the NFS server of the examples.
var nfsMutants = []mutant{
	// Rights of callers.
	{"group 0 of callers is not mapped", "examples/nfs3/nfsd/access.go", "\t\tc.gids = slices.DeleteFunc(c.gids, func(gid uint32) bool { return gid == 0 })", "", nfsdTests},
	{"root is not mapped", "examples/nfs3/nfsd/access.go", "\tcase user.UID == 0 && !s.cfg.AllowRoot:", "\tcase false:", nfsdTests},
	{"a server that is not root has several users", "examples/nfs3/nfsd/access.go", "\tif s.owner != 0 || r.Cred().Flavor == oncrpc.AuthNone {", "\tif r.Cred().Flavor == oncrpc.AuthNone {", nfsdTests},
	{"root executes a file that is not executable", "examples/nfs3/nfsd/access.go", "\tcase c.root && (a.Type == nfs3.FileTypeDir || a.Mode&0o111 != 0):", "\tcase c.root:", nfsdTests},
	{"supplementary groups do not count", "examples/nfs3/nfsd/access.go", "\treturn uint32(gid) == c.gid || slices.Contains(c.gids, uint32(gid))", "\treturn uint32(gid) == c.gid", nfsdTests},
	{"one of two rights is enough", "examples/nfs3/nfsd/access.go", "\tif c.rights(a)&right != right {", "\tif c.rights(a)&right == 0 {", nfsdTests},
	{"the owner does not write a file of mode 0", "examples/nfs3/nfsd/access.go", "\tif c.owns(a) || right == mayRead && c.rights(a)&mayExecute != 0 {", "\tif right == mayRead && c.rights(a)&mayExecute != 0 {", nfsdTests},
	{"a file that may be executed cannot be read", "examples/nfs3/nfsd/access.go", "\tif c.owns(a) || right == mayRead && c.rights(a)&mayExecute != 0 {", "\tif c.owns(a) {", nfsdTests},
	{"a file that may be executed can be written", "examples/nfs3/nfsd/access.go", "\tif c.owns(a) || right == mayRead && c.rights(a)&mayExecute != 0 {", "\tif c.owns(a) || c.rights(a)&mayExecute != 0 {", nfsdTests},
	{"names change without search permission", "examples/nfs3/nfsd/access.go", "func (c *caller) mayChange(dir *nfs3.Attr) error { return c.need(dir, mayWrite|mayExecute) }", "func (c *caller) mayChange(dir *nfs3.Attr) error { return c.need(dir, mayWrite) }", nfsdTests},
	{"the owner of a sticky directory removes nothing", "examples/nfs3/nfsd/access.go", "\tif dir.Mode&sticky != 0 && !c.owns(dir) && !c.owns(a) {", "\tif dir.Mode&sticky != 0 && !c.owns(a) {", nfsdTests},
	{"the owner of a file in a sticky directory does not remove it", "examples/nfs3/nfsd/access.go", "\tif dir.Mode&sticky != 0 && !c.owns(dir) && !c.owns(a) {", "\tif dir.Mode&sticky != 0 && !c.owns(dir) {", nfsdTests},
	{"any user sets the mode", "examples/nfs3/nfsd/access.go", "\tcase (set.Mode.SetIt || exact) && !c.owns(a),", "\tcase exact && !c.owns(a),", nfsdTests},
	{"any user sets the times", "examples/nfs3/nfsd/access.go", "\tcase (set.Mode.SetIt || exact) && !c.owns(a),", "\tcase set.Mode.SetIt && !c.owns(a),", nfsdTests},
	{"any user sets the group that a file has", "examples/nfs3/nfsd/access.go", "\t\t(set.UID.SetIt || set.GID.SetIt) && !c.owns(a),", "\t\tset.UID.SetIt && !c.owns(a),", nfsdTests},
	{"any nanoseconds of the data time", "examples/nfs3/nfsd/access.go", "\tcase set.Atime.Atime.Nseconds >= 1e9 || set.Mtime.Mtime.Nseconds >= 1e9:", "\tcase set.Mtime.Mtime.Nseconds >= 1e9:", nfsdTests},
	{"group -1 is no change", "examples/nfs3/nfsd/access.go", "\tcase set.UID.SetIt && set.UID.UID == 1<<32-1 || set.GID.SetIt && set.GID.GID == 1<<32-1:", "\tcase set.UID.SetIt && set.UID.UID == 1<<32-1:", nfsdTests},
	{"a file is cut without write permission", "examples/nfs3/nfsd/access.go", "\tif set.Size.SetIt || times && !exact {", "\tif times && !exact {", nfsdTests},
	{"the former group decides on set-group-ID", "examples/nfs3/nfsd/access.go", "\t\tgid = set.GID.GID", "\t\tgid = a.GID", nfsdTests},
	{"root does not set set-group-ID for other groups", "examples/nfs3/nfsd/access.go", "\t\tif mode = set.Mode.Mode & 0o7777; !c.root && !c.in(gid) {", "\t\tif mode = set.Mode.Mode & 0o7777; !c.in(gid) {", nfsdTests},
	{"a directory loses set-group-ID by chown", "examples/nfs3/nfsd/access.go", "\tif (set.UID.SetIt || set.GID.SetIt) && a.Type != nfs3.FileTypeDir && a.Type != nfs3.FileTypeLnk {", "\tif set.UID.SetIt || set.GID.SetIt {", nfsdTests},
	{"a file keeps set-user-ID by chown", "examples/nfs3/nfsd/access.go", "\t\tmode &^= setUID | setGID\n\t}\n\treturn mode", "\t\tmode &^= setGID\n\t}\n\treturn mode", nfsdTests},
	{"a write of root takes set-user-ID", "examples/nfs3/nfsd/access.go", "\tif c.root || a.Mode&(setUID|setGID) == 0 {", "\tif a.Mode&(setUID|setGID) == 0 {", nfsdTests},
	{"ACCESS promises changes of a read-only export", "examples/nfs3/nfsd/access.go", "\tif c.need(a, change) == nil && !readOnly {", "\tif c.need(a, change) == nil {", nfsdTests},
	{"ACCESS promises the removal of files", "examples/nfs3/nfsd/access.go", "uint32(nfs3.AccessModify|nfs3.AccessExtend), uint32(nfs3.AccessExecute), mayWrite", "uint32(nfs3.AccessModify|nfs3.AccessExtend|nfs3.AccessDelete), uint32(nfs3.AccessExecute), mayWrite", nfsdTests},
	// Attributes.
	{"a file that is cut keeps set-user-ID", "examples/nfs3/nfsd/attributes.go", "\tif err := c.clearSetID(f, &o.attr); err != nil {\n\t\treturn err\n\t}\n\terr = f.Truncate(int64(size))", "\terr = f.Truncate(int64(size))", nfsdTests},
	{"a new object does not get the group of its directory", "examples/nfs3/nfsd/attributes.go", "\t\tif dir.attr.Mode&setGID != 0 {\n\t\t\tgid", "\t\tif false {\n\t\t\tgid", nfsdTests},
	{"any user gives new objects away", "examples/nfs3/nfsd/attributes.go", "\tif !c.root {\n\t\tset.UID", "\tif false {\n\t\tset.UID", nfsdTests},
	{"the size of a new directory counts", "examples/nfs3/nfsd/attributes.go", "\tif o.attr.Type != nfs3.FileTypeReg {\n\t\tset.Size", "\tif false {\n\t\tset.Size", nfsdTests},
	{"a new directory does not inherit set-group-ID", "examples/nfs3/nfsd/attributes.go", "\tif o.attr.Type == nfs3.FileTypeDir && dir.attr.Mode&setGID != 0 {", "\tif false {", nfsdTests},
	// CREATE.
	{"CREATE of an existing file sets its mode", "examples/nfs3/nfsd/create.go", "\t\tif err := s.setAttr(c, o, &nfs3.SetAttr{Size: how.ObjAttributes.Size}); err != nil {", "\t\tif err := s.setAttr(c, o, &how.ObjAttributes); err != nil {", nfsdTests},
	{"a file that CREATE empties is not stored", "examples/nfs3/nfsd/create.go", "\t\tif err := s.changedData(c, o); err != nil {\n\t\t\treturn err\n\t\t}\n\t\tif o, err", "\t\tif o, err", nfsdTests},
	{"CREATE of an existing file returns its former attributes", "examples/nfs3/nfsd/create.go", "\t\tif o, err = s.child(dir, name); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\treturn s.found", "\t}\n\treturn s.found", nfsdTests},
	// Listings.
	{"READDIRPLUS gives handles without search permission", "examples/nfs3/nfsd/dirs.go", "\t\tif err = c.need(&dir.attr, mayExecute); err != nil {\n\t\t\treturn\n\t\t}", "", nfsdTests},
	{"READDIRPLUS gives a wrong handle for the parent", "examples/nfs3/nfsd/dirs.go", "\tcase \"..\":\n\t\treturn\n\tcase \".\":", "\tcase \"..\", \".\":", nfsdTests},
	{"READDIRPLUS counts names without their padding", "examples/nfs3/nfsd/dirs.go", "func nameSize(name string) int { return (len(name) + 3) &^ 3 }", "func nameSize(name string) int { return len(name) }", nfsdTests},
	{"directories are listed without read permission", "examples/nfs3/nfsd/dirs.go", "\tif err := c.need(&dir.attr, mayRead); err != nil {\n\t\treturn attr, now, false, nil, err\n\t}", "", nfsdTests},
	{"any verifier of cookies is good", "examples/nfs3/nfsd/dirs.go", "\tif cookie != 0 && verf != now {", "\tif false {", nfsdTests},
	{"the listing of the export shows the number of its parent", "examples/nfs3/nfsd/dirs.go", "\t\tcase name == \".\" || name == \"..\" && dir.path == \".\":", "\t\tcase name == \".\":", nfsdTests},
	{"all directories have one verifier of cookies", "examples/nfs3/nfsd/dirs.go", "\ttext := binary.BigEndian.AppendUint64([]byte(\"cookies\"), dir.ino())", "\ttext := binary.BigEndian.AppendUint64([]byte(\"cookies\"), 0)", nfsdTests},
	{"strict cookies have seconds only", "examples/nfs3/nfsd/dirs.go", "\t\ttext = binary.BigEndian.AppendUint32(text, dir.attr.Mtime.Nseconds)", "", nfsdTests},
	{"a listing does not fit the memory of the client", "examples/nfs3/nfsd/dirs.go", "\treturn int(min(uint64(count), maxList, uint64(max(reply-rpc.ReplyHead-4, 0))))", "\t_ = reply\n\treturn int(min(uint64(count), maxList))", nfsdTests},
	{"a listing has any size", "examples/nfs3/nfsd/dirs.go", "\treturn int(min(uint64(count), maxList, uint64(max(reply-rpc.ReplyHead-4, 0))))", "\treturn int(min(uint64(count), uint64(max(reply-rpc.ReplyHead-4, 0))))", nfsdTests},
	// Data.
	{"the guard of SETATTR has seconds only", "examples/nfs3/nfsd/files.go", "\tcase args.Guard.Check && args.Guard.ObjCtime != o.attr.Ctime:", "\tcase args.Guard.Check && args.Guard.ObjCtime.Seconds != o.attr.Ctime.Seconds:", nfsdTests},
	{"ACCESS answers more than was asked", "examples/nfs3/nfsd/files.go", "Access: args.Access & c.access(&o.attr, s.cfg.ReadOnly)}", "Access: c.access(&o.attr, s.cfg.ReadOnly)}", nfsdTests},
	{"a file is read by write permission", "examples/nfs3/nfsd/files.go", "\tright := mayRead\n\tif flag != os.O_RDONLY {", "\tright := mayRead\n\tif false {", nfsdTests},
	{"READ says the end one byte too early", "examples/nfs3/nfsd/files.go", "EOF: offset+uint64(n) >= uint64(st.attr.Size)", "EOF: offset+uint64(n)+1 >= uint64(st.attr.Size)", nfsdTests},
	{"READ has any size", "examples/nfs3/nfsd/files.go", "\tcount := min(uint64(args.Count), size-offset, maxData, readRoom(r))", "\tcount := min(uint64(args.Count), size-offset, readRoom(r))", nfsdTests},
	{"a READ does not fit the memory of the client", "examples/nfs3/nfsd/files.go", "\tcount := min(uint64(args.Count), size-offset, maxData, readRoom(r))", "\tcount := min(uint64(args.Count), size-offset, maxData)", nfsdTests},
	{"READs share memory", "examples/nfs3/nfsd/files.go", "\tr.AfterReply(func(error) { s.buffers.Put(buf) })", "\ts.buffers.Put(buf)", nfsdTests},
	// CREATE.
	{"a file that CREATE made is not stored", "examples/nfs3/nfsd/create.go", "\t\tc.changed = append(c.changed, f)\n\t\tset := args", "\t\tdefer f.Close()\n\t\tset := args", nfsdTests},
	// Data.
	{"a stable WRITE is not stored", "examples/nfs3/nfsd/files.go", "\t\tif err == nil && args.Stable != nfs3.StableHowUnstable && !s.cfg.Async {\n\t\t\terr = s.store(f)", "\t\tif err == nil && args.Stable != nfs3.StableHowUnstable && !s.cfg.Async {", nfsdTests},
	{"an unstable WRITE says that it is stored", "examples/nfs3/nfsd/files.go", "\t\t\tok.Committed = nfs3.StableHowFileSync\n\t\t}\n\t\terr = errors.Join(err, f.Close())\n\t}\n\tif s.cfg.Async {", "\t\t}\n\t\tok.Committed = nfs3.StableHowFileSync\n\t\terr = errors.Join(err, f.Close())\n\t}\n\tif s.cfg.Async {", nfsdTests},
	{"any user writes", "examples/nfs3/nfsd/files.go", "\t\tif err := c.needData(&o.attr, mayWrite); err != nil {\n\t\t\treturn nil, err\n\t\t}", "", nfsdTests},
	{"a written file keeps set-user-ID", "examples/nfs3/nfsd/files.go", "\tif err := c.clearSetID(f, &o.attr); err != nil { // before, as a part of the data may be written\n\t\treturn f, err\n\t}", "", nfsdTests},
	{"COMMIT by read permission", "examples/nfs3/nfsd/files.go", "\tf, err := s.openData(c, &args.File, os.O_WRONLY, &before)", "\tf, err := s.openData(c, &args.File, os.O_RDONLY, &before)", nfsdTests},
	{"COMMIT stores nothing", "examples/nfs3/nfsd/files.go", "\t\terr = errors.Join(s.store(f), f.Close())\n\t}\n\tres.Status, res.Fail", "\t\terr = f.Close()\n\t}\n\tres.Status, res.Fail", nfsdTests},
	// Handles.
	{"half of the MAC of a handle counts", "examples/nfs3/nfsd/handles.go", "\tif want := t.mac(body); !hmac.Equal(mac, want[:]) {", "\tif want := t.mac(body); !hmac.Equal(mac[:8], want[:8]) {", nfsdTests},
	{"a change is settled within its second", "examples/nfs3/nfsd/handles.go", "return int64(change.Seconds)+1 < now.Unix() }", "return int64(change.Seconds) < now.Unix() }", nfsdTests},
	{"a handle is valid on another device", "examples/nfs3/nfsd/handles.go", "\t\tif st.dev == s.dev && st.ino() == ino && (same", "\t\tif st.ino() == ino && (same", nfsdTests},
	{"a handle is stale with the first name", "examples/nfs3/nfsd/handles.go", "\t\tcase gone(err):\n\t\t\tcontinue", "\t\tcase gone(err):\n\t\t\treturn object{}, failed(nfs3.StatusStale)", nfsdTests},
	{"a mounted file system is served", "examples/nfs3/nfsd/handles.go", "\tif err == nil && st.dev != s.dev {", "\tif false {", nfsdTests},
	// Names.
	{"LOOKUP without search permission", "examples/nfs3/nfsd/names.go", "\tif err := c.need(&dir.attr, mayExecute); err != nil {\n\t\treturn h, a, err\n\t}", "", nfsdTests},
	{"changed directories are not stored", "examples/nfs3/nfsd/names.go", "\t\tc.changed = append(c.changed, dir)", "\t\t_ = dir.Close()", nfsdTests},
	{"an object whose creation failed stays", "examples/nfs3/nfsd/names.go", "\t\treturn errors.Join(err, s.root.Remove(path.Join(dir.path, name)))\n\t}\n\treturn nil\n}\n\n// found sets", "\t\treturn err\n\t}\n\treturn nil\n}\n\n// found sets", nfsdTests},
	{"removed files stay in the table", "examples/nfs3/nfsd/names.go", "\ts.table.remove(o.ino(), dir.ino(), name)\n\treturn nil", "\treturn nil", nfsdTests},
	{"RENAME to a directory without permission", "examples/nfs3/nfsd/names.go", "\tfor _, dir := range []object{from, to} {", "\tfor _, dir := range []object{from} {", nfsdTests},
	{"RENAME looks at names before permissions", "examples/nfs3/nfsd/names.go", "\tfor _, dir := range []object{from, to} {", "\tfor _, dir := range []object{to} {", nfsdTests},
	{"RENAME replaces any file of a sticky directory", "examples/nfs3/nfsd/names.go", "\t\terr = c.mayRemove(&to.attr, &target.attr)", "\t\terr = nil", nfsdTests},
	{"RENAME moves a directory that the caller may not write", "examples/nfs3/nfsd/names.go", "\tif o.attr.Type == nfs3.FileTypeDir && from.ino() != to.ino() {", "\tif false {", nfsdTests},
	{"replaced files stay in the table", "examples/nfs3/nfsd/names.go", "\tif exists {\n\t\ts.table.remove(target.ino(), to.ino(), newName)\n\t}", "", nfsdTests},
	{"RENAME onto a directory with names is NFS3ERR_NOTEMPTY", "examples/nfs3/nfsd/names.go", "\tif status(err) == nfs3.StatusNotempty {", "\tif false {", nfsdTests},
	{"LINK of any file", "examples/nfs3/nfsd/names.go", "\t\tcase !c.owns(&o.attr) && (", "\t\tcase false && (", nfsdTests},
	{"LINK of a pipe", "examples/nfs3/nfsd/names.go", "(o.attr.Type != nfs3.FileTypeReg || c.rights", "(c.rights", nfsdTests},
	// The lock manager.
	{"the cookie of a lock is cut", "examples/nfs3/nfsd/nlm.go", "\t*res = nlm4.Res{Cookie: bytes.Clone(cookie), Stat", "\t*res = nlm4.Res{Cookie: cookie[:min(len(cookie), 8)], Stat", nfsdTests},
	{"CANCEL is refused", "examples/nfs3/nfsd/nlm.go", "func (lockServer) Cancel(_ *rpc.Request, args *nlm4.CancelArgs, res *nlm4.Res) error {\n\treturn answer(res, args.Cookie, nlm4.StatusGranted)", "func (lockServer) Cancel(_ *rpc.Request, args *nlm4.CancelArgs, res *nlm4.Res) error {\n\treturn answer(res, args.Cookie, nlm4.StatusDeniedNoLocks)", nfsdTests},
	// MOUNT.
	{"any path that begins as the export is mounted", "examples/nfs3/nfsd/mount.go", "\tif !ok || rest != \"\" && rest[0] != '/' {", "\tif !ok {", nfsdTests},
	{"the list of mounts grows", "examples/nfs3/nfsd/mount.go", "\tm.list = append(m.list[max(len(m.list)-maxMounts+1, 0):], e)", "\tm.list = append(m.list, e)", nfsdTests},
	// The write verifier.
	{"the verifier stays after a failure to store", "examples/nfs3/nfsd/server.go", "\tif err = s.sync(f); err != nil {\n\t\ts.newVerf()\n\t}", "\terr = s.sync(f)", nfsdTests},
	// The table of handles.
	{"the parent of the export is above it", "examples/nfs3/nfsd/table.go", "\tif e := t.entries[ino]; e != nil && len(e.Places) > 0 {\n\t\treturn e.Places[0].Dir\n\t}\n\treturn t.root", "\tif e := t.entries[ino]; e != nil && len(e.Places) > 0 {\n\t\treturn e.Places[0].Dir\n\t}\n\treturn 0", nfsdTests},
	// Rights of callers.
	{"the times are set to now without write permission", "examples/nfs3/nfsd/access.go", "\tif set.Size.SetIt || times && !exact {", "\tif set.Size.SetIt || times && exact && false {", nfsdTests},
	{"the owner gives a file to any group", "examples/nfs3/nfsd/access.go", "\t\tset.GID.SetIt && set.GID.GID != a.GID && !c.root && !c.in(set.GID.GID):", "\t\tset.GID.SetIt && set.GID.GID != a.GID && !c.root && !c.in(a.GID):", nfsdTests},
	// CREATE.
	{"half of the verifier of CREATE counts", "examples/nfs3/nfsd/create.go", "\t\tif o.attr.Atime != atime.Atime || o.attr.Mtime != mtime.Mtime {", "\t\tif o.attr.Atime != atime.Atime || false && o.attr.Mtime != mtime.Mtime {", nfsdTests},
	{"GUARDED CREATE takes an existing file", "examples/nfs3/nfsd/create.go", "\tcase how.Mode == nfs3.CreateModeGuarded:\n\t\treturn failed(nfs3.StatusExist)", "", nfsdTests},
	// Listings.
	{"READDIRPLUS has no entry where dircount is small", "examples/nfs3/nfsd/dirs.go", "\t\tif room < 0 || names < 0 && !first {", "\t\tif room < 0 || names < 0 && (first || !first) {", nfsdTests},
	// Data.
	{"any user reads", "examples/nfs3/nfsd/files.go", "\t\tif err := c.needData(&o.attr, right); err != nil {\n\t\t\treturn nil, err\n\t\t}", "\t\t_ = right", nfsdTests},
	{"the guard of SETATTR counts without being asked for", "examples/nfs3/nfsd/files.go", "\tcase args.Guard.Check && args.Guard.ObjCtime", "\tcase args.Guard.ObjCtime", nfsdTests},
	// Attributes, rights and sizes of results.
	{"the anonymous group is the anonymous user", "examples/nfs3/nfsd/access.go", "\tanonymous := &caller{uid: s.cfg.AnonUID, gid: s.cfg.AnonGID}", "\tanonymous := &caller{uid: s.cfg.AnonUID, gid: s.cfg.AnonUID}", nfsdTests},
	{"root needs a bit to use a directory", "examples/nfs3/nfsd/access.go", "\tcase c.root && (a.Type == nfs3.FileTypeDir || a.Mode&0o111 != 0):", "\tcase c.root && (a.Mode&0o111 != 0):", nfsdTests},
	{"any writer sets the access time", "examples/nfs3/nfsd/access.go", "\texact := set.Atime.SetIt == nfs3.TimeHowSetToClientTime || set.Mtime.SetIt == nfs3.TimeHowSetToClientTime", "\texact := set.Atime.SetIt == nfs3.TimeHowSetToClientTime", nfsdTests},
	{"any writer sets the modification time", "examples/nfs3/nfsd/access.go", "\texact := set.Atime.SetIt == nfs3.TimeHowSetToClientTime || set.Mtime.SetIt == nfs3.TimeHowSetToClientTime", "\texact := set.Mtime.SetIt == nfs3.TimeHowSetToClientTime", nfsdTests},
	{"any user sets the access time to now", "examples/nfs3/nfsd/access.go", "\ttimes := set.Atime.SetIt != nfs3.TimeHowDontChange || set.Mtime.SetIt != nfs3.TimeHowDontChange", "\ttimes := set.Mtime.SetIt != nfs3.TimeHowDontChange", nfsdTests},
	{"the mode that a file has is not set", "examples/nfs3/nfsd/access.go", "\treturn mode, set.Mode.SetIt || mode != a.Mode", "\treturn mode, mode != a.Mode", nfsdTests},
	{"the attributes before a change have the time of the data", "examples/nfs3/nfsd/attributes.go", "Mtime: a.Mtime, Ctime: a.Ctime}}", "Mtime: a.Mtime, Ctime: a.Mtime}}", nfsdTests},
	{"an inherited set-group-ID bit takes the sticky bit", "examples/nfs3/nfsd/attributes.go", "fileMode(set.Mode.Mode&0o7777|setGID)", "fileMode(set.Mode.Mode&0o777|setGID)", nfsdTests},
	{"the verifier of CREATE has times after 2038", "examples/nfs3/nfsd/create.go", "\tconst most = 1<<31 - 1", "\tconst most = 1<<32 - 1", nfsdTests},
	{"a failed CREATE returns no attributes", "examples/nfs3/nfsd/create.go", "\tres.Status, res.OK, res.Fail.DirWcc = status(err), m, wcc", "\tres.Status, res.OK = status(err), m", nfsdTests},
	{"a listing does not fill its size", "examples/nfs3/nfsd/dirs.go", "\t\tif room -= entryHead + nameSize(name); room < 0 {", "\t\tif room -= entryHead + nameSize(name); room <= 0 {", nfsdTests},
	{"strict cookies have nanoseconds only", "examples/nfs3/nfsd/dirs.go", "\t\ttext = binary.BigEndian.AppendUint32(text, dir.attr.Mtime.Seconds)", "", nfsdTests},
	{"a failed SETATTR returns no attributes", "examples/nfs3/nfsd/files.go", "\tres.Status, res.Fail.ObjWcc = status(s.storeChanged(c, err)), res.OK.ObjWcc", "\tres.Status = status(s.storeChanged(c, err))", nfsdTests},
	{"a failed READLINK returns no attributes", "examples/nfs3/nfsd/files.go", "\t\tres.Fail.Attributes = res.OK.Attributes", "", nfsdTests},
	{"a failed WRITE returns no attributes", "examples/nfs3/nfsd/files.go", "\tres.Status, res.Fail.FileWcc = status(err), ok.FileWcc", "\tres.Status = status(err)", nfsdTests},
	{"COMMIT leaves its file open", "examples/nfs3/nfsd/files.go", "\t\terr = errors.Join(s.store(f), f.Close())\n\t}\n\tres.Status, res.Fail", "\t\terr = s.store(f)\n\t}\n\tres.Status, res.Fail", nfsdTests},
	{"the time of a change of this second is noted", "examples/nfs3/nfsd/handles.go", "\tif settled(st.attr.Ctime, time.Now()) {", "\tif true {", nfsdTests},
}
