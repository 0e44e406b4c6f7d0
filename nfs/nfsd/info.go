package nfsd

import (
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// FSStat implements nfs3rpc.Server.
func (s *Server) FSStat(_ *rpc.Request, args *nfs3.FSStatArgs, res *nfs3.FSStatRes) error {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.FSRoot)
	if err == nil {
		var space vfs.Space
		space, err = s.tree.fs.Space()
		res.OK = nfs3.FSStatResOK{
			Tbytes: nfs3.Size(space.Bytes), Fbytes: nfs3.Size(space.FreeBytes), Abytes: nfs3.Size(space.AvailBytes),
			Tfiles: nfs3.Size(space.Files), Ffiles: nfs3.Size(space.FreeFiles), Afiles: nfs3.Size(space.FreeFiles),
		}
		res.OK.ObjAttributes, res.Fail.ObjAttributes = o.after(), o.after()
	}
	res.Status = status(err)
	return nil
}

// FSInfo implements nfs3rpc.Server.
func (s *Server) FSInfo(_ *rpc.Request, args *nfs3.FSInfoArgs, res *nfs3.FSInfoRes) error {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.FSRoot)
	if res.Status = status(err); err == nil {
		res.OK = nfs3.FSInfoResOK{
			ObjAttributes: o.after(),
			Rtmax:         maxData, Rtpref: maxData, Rtmult: 4096,
			Wtmax: maxData, Wtpref: maxData, Wtmult: 4096,
			Dtpref: 64 << 10, MaxFileSize: maxFile, TimeDelta: nfs3.Time{Nseconds: 1},
			Properties: nfs3.PropertyLink | nfs3.PropertySymLink | nfs3.PropertyHomogeneous | nfs3.PropertyCanSetTime,
		}
	}
	return nil
}

// PathConf implements nfs3rpc.Server.
func (s *Server) PathConf(_ *rpc.Request, args *nfs3.PathConfArgs, res *nfs3.PathConfRes) error {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.Object)
	if res.Status = status(err); err == nil {
		res.OK = nfs3.PathConfResOK{
			ObjAttributes: o.after(), Linkmax: 32000, NameMax: vfs.MaxName,
			NoTrunc: true, ChownRestricted: true, CasePreserving: true,
		}
	}
	return nil
}
