// Package rpc calls and serves the procedures of RPC programs over rdmaio: what stands between the
// types that xdrgen makes and the messages that rdmaio carries.
//
// A program's version is an [oncrpc.Program], whose parts generated packages have. The constants for the numbers have the names
// of the .x file in Go's spelling, that of the version behind that of its program: program KV with version KV1 gives Kv
// and KvKv1, and a procedure KV_GET gives ProcGet. A prefix in the .bind file takes off a part of the names, and a
// rename gives another one, as here. There is no DDPBindings where the .bind file makes nothing eligible for RDMA:
//
//	var storeV1 = oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}
//
// Its Name and Procedures, where they are set, are in errors and logs: "NFS3 GETATTR (100003 v3 proc 1)".
//
// A [Client] calls it, over an rdmaio.Conn, Client or Backchannel alike:
//
//	files := rpc.NewClient(conn, storeV1, nil)
//	var res store.WriteRes
//	err := files.Call(ctx, store.ProcWrite, &store.WriteArgs{Name: name, Data: data}, &res, nil)
//
// A [Service] serves it, and a [Handler] of services is what rdmaio.Listen takes, or Config.ReverseHandler:
//
//	svc := rpc.NewService(storeV1)
//	rpc.Handle(svc, store.ProcWrite, func(r *rpc.Request, args *store.WriteArgs, res *store.WriteRes) error { ... })
//	server, err := rdmaio.Listen(ctx, dev, addr, rpc.NewHandler(nil, svc), nil)
//
// Arguments and results that are no types of the .x file's own are those of package oncrpc: Void, Uint32 and so on.
//
// # Bulk data
//
// What the bindings make eligible stays in the memory it is in: the transport moves it by RDMA where
// it does not fit inline. A caller who names memory in Options.Results finds eligible results there, placed by the
// server, and the decoded value points into it. A server fetches up to
// rdmaio.Config.MaxReadBytes for one call, 16 MiB by default, and refuses larger arguments.
//
// Other results may be as long as ClientConfig.MaxReply, 512 KiB by default, without a size in the caller's code: the connection
// offers memory for those that may not fit inline, and the decoded value is a copy. Options.ReplyBuf avoids that copy, and the limit.
//
// # Calls that are sent again
//
// A client sends a call again when it lost its connection, and may have the server execute it twice. Where that does harm,
// put a cache before the handler, and name the procedures that need none:
//
//	svc.Idempotent(store.ProcRead)
//	server, err := rdmaio.Listen(ctx, dev, addr, rdmaio.CacheReplies(rpc.NewHandler(nil, svc), nil), nil)
//
// # What a failed call means
//
// Every error of Client.Call is an *[Error], which says whether the procedure may have run, and unwraps
// to the reason: an *oncrpc.ReplyError where the server refused the call, an *rdmaio.CallError where the transport failed, an
// *xdr.Error where arguments could not be encoded or results not be decoded, oncrpc.ErrVerf.
//
// # What a server answers by itself
//
// Procedure 0 of each program, and by RFC 5531 §9: RPC_MISMATCH, PROG_UNAVAIL, PROG_MISMATCH with the versions
// that there are, PROC_UNAVAIL, GARBAGE_ARGS for what cannot be decoded or has bytes left over, AUTH_ERROR as
// Service.Allow has it, and SYSTEM_ERR for errors of procedures that have no meaning on the wire. Those are logged, to rdmaio.Config.Logger or else to
// slog.Default, and are in rdmaio.ServeEnd with the status.
package rpc
