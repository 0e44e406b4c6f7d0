package nfsd

import (
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
)

// Handler returns a handler of NFS version 3, and of version 4 as far as it is served. A call that
// a client sends again on another connection is executed once.
func (s *Server) Handler() rdmaio.Handler {
	return replycache.New(rpc.NewHandler(nil, s.v3(), s.v4()), nil)
}

// handle adds a procedure that runs alone.
func handle[A, R any, PA rpc.Value[A], PR rpc.Value[R]](s *Server, svc *rpc.Service, proc uint32, f func(args *A, res *R)) {
	name := nfs.Program().Procedures[proc]
	rpc.Handle[A, R, PA, PR](svc, proc, func(_ *rpc.Request, args *A, res *R) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls[name]++
		f(args, res)
		return nil
	})
}

// v3 returns the service of NFS version 3.
func (s *Server) v3() *rpc.Service {
	svc := rpc.NewService(nfs.Program())
	handle(s, svc, nfs3.ProcGetAttr, s.getAttr)
	handle(s, svc, nfs3.ProcSetAttr, s.setAttr)
	handle(s, svc, nfs3.ProcLookup, s.lookUp)
	handle(s, svc, nfs3.ProcAccess, s.access)
	handle(s, svc, nfs3.ProcReadLink, s.readLink)
	handle(s, svc, nfs3.ProcRead, s.read)
	handle(s, svc, nfs3.ProcWrite, s.write)
	handle(s, svc, nfs3.ProcCreate, s.create)
	handle(s, svc, nfs3.ProcSymLink, s.symLink)
	handle(s, svc, nfs3.ProcRemove, s.remove)
	handle(s, svc, nfs3.ProcReadDir, s.readDir)
	handle(s, svc, nfs3.ProcReadDirPlus, s.readDirPlus)
	handle(s, svc, nfs3.ProcFSStat, s.fsStat)
	handle(s, svc, nfs3.ProcFSInfo, s.fsInfo)
	handle(s, svc, nfs3.ProcPathConf, s.pathConf)
	handle(s, svc, nfs3.ProcCommit, s.commit)
	svc.Idempotent(nfs3.ProcGetAttr, nfs3.ProcLookup, nfs3.ProcAccess, nfs3.ProcReadLink, nfs3.ProcRead, nfs3.ProcWrite,
		nfs3.ProcReadDir, nfs3.ProcReadDirPlus, nfs3.ProcFSStat, nfs3.ProcFSInfo, nfs3.ProcPathConf, nfs3.ProcCommit)
	return svc
}

func (s *Server) getAttr(args *nfs3.GetAttrArgs, res *nfs3.GetAttrRes) {
	n, status := s.find(&args.Object)
	if res.Status = status; status == nfs3.StatusOK {
		res.OK.ObjAttributes = n.attributes()
	}
}

func (s *Server) setAttr(args *nfs3.SetAttrArgs, res *nfs3.SetAttrRes) {
	n, status := s.find(&args.Object)
	if status == nfs3.StatusOK && args.Guard.Check && args.Guard.ObjCtime != n.attr.Ctime {
		status = nfs3.StatusNotSync
	}
	if status == nfs3.StatusOK && n.attr.Type != nfs3.FileTypeReg && args.NewAttributes.Size.SetIt {
		status = nfs3.StatusInval
	}
	if status == nfs3.StatusOK {
		status = n.set(&args.NewAttributes)
		res.OK.ObjWcc = n.changed()
	}
	res.Status = status
}

func (s *Server) lookUp(args *nfs3.LookupArgs, res *nfs3.LookupRes) {
	n, status := s.lookup(&args.What)
	if status == nfs3.StatusOK && n == nil {
		status = nfs3.StatusNoent
	}
	if res.Status = status; status == nfs3.StatusOK {
		res.OK = nfs3.LookupResOK{Object: n.handle(), ObjAttributes: n.after(), DirAttributes: s.root.after()}
	}
}

// access allows everything: there are no permissions in memory.
func (s *Server) access(args *nfs3.AccessArgs, res *nfs3.AccessRes) {
	n, status := s.find(&args.Object)
	if res.Status = status; status == nfs3.StatusOK {
		res.OK = nfs3.AccessResOK{ObjAttributes: n.after(), Access: args.Access}
	}
}

func (s *Server) readLink(args *nfs3.ReadLinkArgs, res *nfs3.ReadLinkRes) {
	n, status := s.find(&args.SymLink)
	if status == nfs3.StatusOK && n.attr.Type != nfs3.FileTypeLnk {
		status = nfs3.StatusInval
	}
	if res.Status = status; status == nfs3.StatusOK { // the path never changes
		res.OK = nfs3.ReadLinkResOK{Attributes: n.after(), Path: nfs3.Path(n.data)}
	}
}

// read answers with a copy: the transport uses the data after the lock is free.
func (s *Server) read(args *nfs3.ReadArgs, res *nfs3.ReadRes) {
	n, status := s.file(&args.File)
	if res.Status = status; status != nfs3.StatusOK {
		return
	}
	from := min(uint64(args.Offset), uint64(len(n.data)))
	data := n.data[from:]
	eof := true
	if most := min(uint64(args.Count), maxData); uint64(len(data)) > most {
		data, eof = data[:most], false
	}
	res.OK = nfs3.ReadResOK{FileAttributes: n.after(), Count: nfs3.Count(len(data)), EOF: eof, Data: append([]byte(nil), data...)}
}

func (s *Server) write(args *nfs3.WriteArgs, res *nfs3.WriteRes) {
	n, status := s.file(&args.File)
	end := uint64(args.Offset) + uint64(len(args.Data))
	switch {
	case status != nfs3.StatusOK:
	case int(args.Count) != len(args.Data):
		status = nfs3.StatusInval
	case uint64(args.Offset) > maxFile || end > maxFile:
		status = nfs3.StatusFbig
	}
	if res.Status = status; status != nfs3.StatusOK {
		return
	}
	if end > uint64(len(n.data)) {
		n.resize(int(end))
	}
	copy(n.data[args.Offset:], args.Data)
	n.touch()
	res.OK = nfs3.WriteResOK{FileWcc: n.changed(), Count: args.Count, Committed: args.Stable, Verf: s.verf}
}

func (s *Server) create(args *nfs3.CreateArgs, res *nfs3.CreateRes) {
	n, status := s.lookup(&args.Where)
	how := &args.How
	repeated := n != nil && how.Mode == nfs3.CreateModeExclusive && n.createVerf != nil && *n.createVerf == how.Verf
	switch {
	case status != nfs3.StatusOK:
	case n != nil && how.Mode != nfs3.CreateModeUnchecked && !repeated:
		status = nfs3.StatusExist
	case n != nil && n.attr.Type != nfs3.FileTypeReg:
		status = nfs3.StatusExist
	case n == nil:
		n = s.add(string(args.Where.Name), nfs3.FileTypeReg, 0o600)
	}
	if status == nfs3.StatusOK && how.Mode == nfs3.CreateModeExclusive {
		verf := how.Verf
		n.createVerf = &verf
	} else if status == nfs3.StatusOK {
		status = n.set(&how.ObjAttributes)
	}
	if res.Status = status; status == nfs3.StatusOK {
		res.OK = nfs3.CreateResOK{Obj: nfs3.PostOpHandle{HandleFollows: true, Handle: n.handle()}, ObjAttributes: n.after(), DirWcc: s.root.changed()}
	}
}

func (s *Server) symLink(args *nfs3.SymLinkArgs, res *nfs3.SymLinkRes) {
	n, status := s.lookup(&args.Where)
	switch {
	case status != nfs3.StatusOK:
	case n != nil:
		status = nfs3.StatusExist
	case len(args.SymLink.Path) > maxPath:
		status = nfs3.StatusNametoolong
	}
	if res.Status = status; status != nfs3.StatusOK {
		return
	}
	n = s.add(string(args.Where.Name), nfs3.FileTypeLnk, 0o777)
	n.data = append([]byte(nil), args.SymLink.Path...)
	res.OK = nfs3.SymLinkResOK{Obj: nfs3.PostOpHandle{HandleFollows: true, Handle: n.handle()}, ObjAttributes: n.after(), DirWcc: s.root.changed()}
}

func (s *Server) remove(args *nfs3.RemoveArgs, res *nfs3.RemoveRes) {
	n, status := s.lookup(&args.Object)
	switch {
	case status != nfs3.StatusOK:
	case n == nil:
		status = nfs3.StatusNoent
	case n == s.root:
		status = nfs3.StatusIsdir
	}
	if res.Status = status; status == nfs3.StatusOK {
		delete(s.names, n.name)
		delete(s.nodes, n.id)
		s.root.touch()
		res.OK.DirWcc = s.root.changed()
	}
}

func (s *Server) readDir(args *nfs3.ReadDirArgs, res *nfs3.ReadDirRes) {
	dir, status := s.find(&args.Dir)
	if status == nfs3.StatusOK && dir != s.root {
		status = nfs3.StatusNotdir
	}
	if res.Status = status; status != nfs3.StatusOK {
		return
	}
	ok := nfs3.ReadDirResOK{DirAttributes: s.root.after(), Reply: nfs3.DirList{EOF: true}}
	for _, e := range s.list() {
		if e.Cookie <= args.Cookie {
			continue
		}
		ok.Reply.Entries = append(ok.Reply.Entries, e)
		if ok.XDRSize() > int(args.Count) { // RFC 1813 §3.3.16: count is the size of READDIR3resok
			ok.Reply.Entries, ok.Reply.EOF = ok.Reply.Entries[:len(ok.Reply.Entries)-1], false
			break
		}
	}
	if len(ok.Reply.Entries) == 0 && !ok.Reply.EOF {
		res.Status = nfs3.StatusToosmall
		return
	}
	res.OK = ok
}

func (s *Server) readDirPlus(args *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes) {
	dir, status := s.find(&args.Dir)
	if status == nfs3.StatusOK && dir != s.root {
		status = nfs3.StatusNotdir
	}
	if res.Status = status; status != nfs3.StatusOK {
		return
	}
	ok := nfs3.ReadDirPlusResOK{DirAttributes: s.root.after(), Reply: nfs3.DirListPlus{EOF: true}}
	for _, e := range s.list() {
		if e.Cookie <= args.Cookie {
			continue
		}
		n := s.nodes[e.FileID]
		ok.Reply.Entries = append(ok.Reply.Entries, nfs3.EntryPlus{
			FileID: e.FileID, Name: e.Name, Cookie: e.Cookie,
			NameAttributes: n.after(), NameHandle: nfs3.PostOpHandle{HandleFollows: true, Handle: n.handle()},
		})
		if ok.XDRSize() > int(args.MaxCount) { // RFC 1813 §3.3.17: the size of READDIRPLUS3resok
			ok.Reply.Entries, ok.Reply.EOF = ok.Reply.Entries[:len(ok.Reply.Entries)-1], false
			break
		}
	}
	if len(ok.Reply.Entries) == 0 && !ok.Reply.EOF {
		res.Status = nfs3.StatusToosmall
		return
	}
	res.OK = ok
}

func (s *Server) fsStat(args *nfs3.FSStatArgs, res *nfs3.FSStatRes) {
	n, status := s.find(&args.FSRoot)
	if res.Status = status; status == nfs3.StatusOK {
		res.OK = nfs3.FSStatResOK{ObjAttributes: n.after(), Tbytes: maxFile, Fbytes: maxFile, Abytes: maxFile, Tfiles: 1 << 20, Ffiles: 1 << 20, Afiles: 1 << 20}
	}
}

func (s *Server) fsInfo(args *nfs3.FSInfoArgs, res *nfs3.FSInfoRes) {
	n, status := s.find(&args.FSRoot)
	if res.Status = status; status == nfs3.StatusOK {
		res.OK = nfs3.FSInfoResOK{
			ObjAttributes: n.after(), Rtmax: maxData, Rtpref: maxData, Rtmult: 4096, Wtmax: maxData, Wtpref: maxData, Wtmult: 4096,
			Dtpref: 64 << 10, MaxFileSize: maxFile, TimeDelta: nfs3.Time{Nseconds: 1},
			Properties: nfs3.PropertySymLink | nfs3.PropertyHomogeneous,
		}
	}
}

func (s *Server) pathConf(args *nfs3.PathConfArgs, res *nfs3.PathConfRes) {
	n, status := s.find(&args.Object)
	if res.Status = status; status == nfs3.StatusOK {
		res.OK = nfs3.PathConfResOK{ObjAttributes: n.after(), Linkmax: 1, NameMax: maxName, NoTrunc: true, ChownRestricted: true, CasePreserving: true}
	}
}

func (s *Server) commit(args *nfs3.CommitArgs, res *nfs3.CommitRes) {
	n, status := s.file(&args.File)
	if res.Status = status; status == nfs3.StatusOK {
		res.OK = nfs3.CommitResOK{FileWcc: n.changed(), Verf: s.verf}
	}
}
