package nfs

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Program returns NFS version 3, with the items that direct data placement may move (RFC 8267 §4).
func Program() oncrpc.Program {
	return oncrpc.Program{
		Number: nfs3.Program, Version: nfs3.Version, Bindings: nfs3.DDPBindings(), Name: "NFS3",
		Procedures: map[uint32]string{
			nfs3.ProcNull: "NULL", nfs3.ProcGetAttr: "GETATTR", nfs3.ProcSetAttr: "SETATTR", nfs3.ProcLookup: "LOOKUP",
			nfs3.ProcAccess: "ACCESS", nfs3.ProcReadLink: "READLINK", nfs3.ProcRead: "READ", nfs3.ProcWrite: "WRITE",
			nfs3.ProcCreate: "CREATE", nfs3.ProcMkDir: "MKDIR", nfs3.ProcSymLink: "SYMLINK", nfs3.ProcRemove: "REMOVE",
			nfs3.ProcReadDir: "READDIR", nfs3.ProcReadDirPlus: "READDIRPLUS", nfs3.ProcFSStat: "FSSTAT", nfs3.ProcFSInfo: "FSINFO", nfs3.ProcPathConf: "PATHCONF",
			nfs3.ProcCommit: "COMMIT",
		},
	}
}

// Cred returns the AUTH_SYS credential of a user and a group (RFC 5531 appendix A).
func Cred(uid, gid uint32) (oncrpc.OpaqueAuth, error) {
	p := oncrpc.AuthSysParms{MachineName: []byte("rpcrdma"), UID: uid, GID: gid}
	return p.Auth()
}

// StatusError is the error of a call that the server executed and refused.
type StatusError struct {
	Procedure string
	Status    nfs3.Status
}

// Error returns the procedure and the status.
func (e *StatusError) Error() string { return fmt.Sprintf("nfs: %s: %v", e.Procedure, e.Status) }

// Config configures NewClient.
type Config struct {
	// Cred is the credential of all calls. If zero, the default is AUTH_NONE.
	Cred oncrpc.OpaqueAuth

	// Long says that no item is placed directly. Calls and replies that do not fit inline are then
	// long messages: a read chunk at position zero, and a reply chunk.
	Long bool
}

// Client calls the procedures of an NFS version 3 server. Its methods may be called concurrently.
type Client struct {
	calls   *rpc.Client
	program oncrpc.Program
	long    bool
}

// NewClient returns a Client over a carrier, which the caller closes.
func NewClient(t oncrpc.Carrier, cfg Config) *Client {
	p := Program()
	if cfg.Long {
		p.Bindings = nil
	}
	return &Client{calls: rpc.NewClient(t, p, &rpc.ClientConfig{Cred: cfg.Cred}), program: p, long: cfg.Long}
}

// call calls a procedure. status points to the status in results, which is decoded.
func (c *Client) call(ctx context.Context, proc uint32, args, results xdr.Value, status *nfs3.Status, opt *rpc.Options) error {
	if err := c.calls.Call(ctx, proc, args, results, opt); err != nil {
		return err
	}
	if *status != nfs3.StatusOK {
		return &StatusError{c.program.Procedures[proc], *status}
	}
	return nil
}

// replyBuf returns memory for a reply whose only item without a bound has n bytes. No fixed part of
// a result is longer than 512 bytes.
func replyBuf(n int) []byte { return make([]byte, rpc.ReplyHead+512+xdr.Padded(n)) }
