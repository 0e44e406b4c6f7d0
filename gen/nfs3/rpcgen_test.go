package nfs3

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgenAgreesWithTheVectors compares the vectors with the code of another compiler.
func TestRpcgenAgreesWithTheVectors(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"GetAttrArgs": "GETATTR3args", "GetAttrRes": "GETATTR3res", "SetAttrArgs": "SETATTR3args",
		"LookupArgs": "LOOKUP3args", "LookupRes": "LOOKUP3res", "ReadLinkRes": "READLINK3res",
		"ReadArgs": "READ3args", "ReadRes": "READ3res", "WriteArgs": "WRITE3args", "WriteRes": "WRITE3res",
		"CreateArgs": "CREATE3args", "CreateRes": "CREATE3res", "SymLinkArgs": "SYMLINK3args", "MkNodArgs": "MKNOD3args",
		"ReadDirRes": "READDIR3res", "ReadDirPlusRes": "READDIRPLUS3res", "FSInfoRes": "FSINFO3res",
		"CommitArgs": "COMMIT3args", "CommitRes": "COMMIT3res",
	}, "../../spec/x/nfs3/nfs3.x")
}
