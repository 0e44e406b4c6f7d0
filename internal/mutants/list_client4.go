package main

var client4Tests = []string{"nfs/client4"}

// client4Mutants are in the client of NFS versions 4.1 and 4.2.
var client4Mutants = []mutant{
	{"attributes besides the wanted ones are taken", "nfs/client4/names.go", "word&^mask[i] != 0 {", "word&^mask[i] != 0 && false {", client4Tests},
	{"a file without a type is a regular one", "nfs/client4/names.go", "	if !a.Has(nfs42.AttrType) {\n", "	if false {\n", client4Tests},
	{"a name with a slash is listed", "nfs/client4/names.go", "strings.ContainsAny(name, \"/\\x00\")", "strings.ContainsAny(name, \"\\x00\")", client4Tests},
	{"a cookie that comes back is taken", "nfs/client4/readdir.go", "b.n > 0 && cookie == b.seen || ", "", client4Tests},
	{"a reserved cookie is taken", "nfs/client4/readdir.go", "cookie <= 2", "cookie == 0", client4Tests},
	{"a call whose state ID was reclaimed fails", "nfs/client4/data.go", "	case err != nil && stale(err):\n", "	case false:\n", client4Tests},
	{"a size is set before the data are stored", "nfs/client4/file.go", "	if attr.Has(nfs42.AttrSize) {", "	if false {", client4Tests},
	{"a file that cannot be reclaimed stays closed", "nfs/client4/open.go", "	for _, f := range lost {", "	for _, f := range lost[:0] {", client4Tests},
	{"files that were lost before are opened again", "nfs/client4/open.go", "	c.lost = nil\n", "", client4Tests},
	{"a file is not opened after the end of the grace period", "nfs/client4/open.go", "nfs4.Refused(err, nfs42ext.StatusNoGrace) || ", "", client4Tests},
	{"a file that the server did not know before its restart stays closed", "nfs/client4/open.go", " || nfs4.Refused(err, nfs42ext.StatusReclaimBad)", "", client4Tests},
	{"a lost session is a file that cannot be reclaimed", "nfs/client4/open.go", "&& refused.Index >= 0 ", "", client4Tests},
	{"a reclaim invites a delegation", "nfs/client4/open.go", "		ShareAccess: f.access | nfs42.OpenShareAccessWantNoDeleg, Owner", "		ShareAccess: f.access, Owner", client4Tests},
	{"a file is not opened again after a restart", "nfs/client4/open.go", "	for _, f := range files {", "	for _, f := range files[:0] {", client4Tests},
	{"a list of extended attributes has keys of any length", "nfs/client4/xattr.go", "		if len(k) > maxXattrName {", "		if false {", client4Tests},
	{"a longer path than a COMPOUND loses its beginning", "nfs/client4/names.go", "at, known, list = fh.OK.Object, true, list[maxLookups:]", "at, known, list = fh.OK.Object, false, list[maxLookups:]", client4Tests},
	{"a file opened for reading can be written", "nfs/client4/open.go", "	default:\n		f.access = nfs42.OpenShareAccessRead\n", "	default:\n		f.access = nfs42.OpenShareAccessBoth\n", client4Tests},
}

const (
	client4Open   = "nfs/client4/open.go"
	client4Held   = "nfs/client4/delegation.go"
	client4Recall = "nfs/client4/recall.go"
)

// delegationMutants are in the delegations of NFS versions 4.1 and 4.2.
var delegationMutants = []mutant{
	{"a delegation serves any rights", client4Held, "f.access&^d.access == 0 && ", "", client4Tests},
	{"a delegation to read serves writers", client4Held, " && (d.write || f.access&nfs42.OpenShareAccessWrite == 0)", "", client4Tests},
	{"an exclusive open is served by a delegation", client4Held, "	if d == nil || flag&os.O_EXCL != 0 && flag&os.O_CREATE != 0 {", "	if d == nil {", client4Tests},
	{"a recall of another state ID is accepted", client4Recall, "	case id.Other != args.StateID.Other:\n", "	case id.Other != args.StateID.Other && false:\n", client4Tests},
	{"a delegation is returned before its data are stored", client4Recall, "			_ = f.Sync()\n", "", client4Tests},
	{"a delegation is returned with files open under it", client4Recall, "nfs42.OpenClaimTypeDelegCurFH, DelegateStateID", "nfs42.OpenClaimTypeFH, DelegateStateID", client4Tests},
	{"the delegations have no limit", client4Held, "	if h.used.Len() <= limit {", "	if true {", client4Tests},
	{"the last used delegation is returned first", client4Held, "h.used.Back().Value.(*delegation)\n	h.used.Remove", "h.used.Front().Value.(*delegation)\n	h.used.Remove", client4Tests},
	{"an unwanted delegation is kept", client4Held, "	if h.c.cfg.Delegations < 0 || !complete", "	if !complete", client4Tests},
	{"a delegation is not reclaimed", client4Open, "		args.Claim.DelegateType = d.kind()\n", "		_ = d\n", client4Tests},
	{"a revoked delegation is not freed", client4Recall, "	if revoked(status) {", "	if false {", client4Tests},
	{"files of a revoked delegation are not opened", client4Recall, "		_ = f.openAs(ctx, h.c.s, f.byHandle()) //", "		_ = f //", client4Tests},
	{"Close keeps the delegations", client4Recall, "	for _, d := range h.byHandle {\n		all", "	for _, d := range h.byHandle {\n		continue\n		all", client4Tests},
	{"an abandoned open stays open", client4Open, "		if err := <-over; err == nil {", "		if err := <-over; err != nil {", client4Tests},
	{"an abandoned open keeps its delegation", client4Open, "given, _, _ := delegated(&ok.Delegation); given != nil {", "given, _, _ := delegated(&ok.Delegation); false && given != nil {", client4Tests},
	{"a guarded creation is another one", client4Open, "		how.Mode = nfs42.CreateModeGuarded\n", "		how.Mode = nfs42.CreateModeUnchecked\n", client4Tests},
}

const (
	filedataParts  = "nfs/internal/filedata/doc.go"
	filedataReads  = "nfs/internal/filedata/read.go"
	filedataWrites = "nfs/internal/filedata/write.go"
)

var filedataTests = []string{"nfs/internal/filedata"}

// filedataMutants are in what both versions of NFS do to read and write the data of a file.
var filedataMutants = []mutant{
	{"a verifier that changes is not noticed", filedataWrites, "v.changed = v.changed || v.any && v.verf != verf", "v.changed = v.changed && v.any", filedataTests},
	{"a verifier that changed once changes again", filedataWrites, "	v.any, v.changed = false, false\n", "", filedataTests},
	{"READs begin after an error", filedataReads, "		r.stop.Store(true)\n", "", filedataTests},
	{"WRITEs begin after an error", filedataWrites, "		if err == nil && at < e.n", "		if at < e.n", filedataTests},
	{"data that were not written again are stored", filedataWrites, "			f.seen.lose() // the", "			// the", filedataTests},
	{"a short READ is not followed by the rest", filedataParts, "	return x.err == nil && !x.eof && len(x.rest) > 0\n", "	return false\n", filedataTests},
	{"more bytes than asked for are taken", filedataParts, "	case x.op == Read && r.N > len(x.rest):\n", "	case false:\n", filedataTests},
	{"a WRITE that is not stored counts as stored", filedataParts, "	case x.op == Stored && !r.Stored:\n", "	case false:\n", filedataTests},
	{"a copy leaves READs in flight", filedataReads, "			x.wait(back)\n		}\n		f.put", "			_ = x\n		}\n		f.put", filedataTests},
	{"more bytes than the window are kept", filedataWrites, "	if f.size > 0 && f.size+e.n > int64(f.cfg.Window) {", "	if false {", filedataTests},
	{"a server without COMMIT is an error", filedataWrites, "		if unsupported(err) {", "		if false {", filedataTests},
	{"a READ that the server refuses for now fails", "nfs/client/data.go", "refused(err, nfs3.StatusJukebox) {", "false {", []string{"nfs/client"}},
	{"a COMPOUND that was submitted and refused for now fails", "nfs/nfs4/submit.go", "	if verdict == settled {\n", "	if true {\n", sessionTests},
	{"a COMPOUND that was submitted may run twice", "nfs/nfs4/submit.go", "c.ctx.resent.Load() && !c.repeatable(len(c.ops)) {", "false {", sessionTests},
	{"a COMPOUND that was submitted has no limit of its time", "nfs/nfs4/submit.go", "	if s.cfg.MaxWait > 0 {\n", "	if false {\n", sessionTests},
}
