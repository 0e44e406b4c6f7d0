// Package rpc calls and serves the procedures of RPC programs. It connects the types that xdrgen
// generates with the messages that a carrier moves: rdmaio over RDMA, tcp over TCP.
//
// # Generated clients and servers
//
// For a .x file with a program, xdrgen gen -rpc writes a second package in addition to the types:
// for package store, storerpc. The line rpc in the .bind file does the same. It has a client with a
// method for each procedure, and an interface for the server:
//
//	files := storerpc.NewClient(conn, nil)
//	res, err := files.Read(ctx, &store.ReadArgs{Name: name, Count: 4096})
//
//	handler := rpc.NewHandler(nil, storerpc.NewService(fileServer{}))
//	server, err := rdmaio.Listen(ctx, dev, addr, handler, nil)
//
// A server without one of the methods does not compile; [Unimplemented] refuses a procedure. They
// call this package, so the rest of this page applies to them as well.
//
// # Calls by number
//
// An [oncrpc.Program] describes one version of a program, with constants of the generated package.
// The constants have the names of the .x file in Go's spelling, the program's name before the
// version's: program KV with version KV1 gives Kv and KvKv1, and procedure KV_GET gives ProcGet.
// The .bind file can cut off a prefix or rename a constant, as it does here. If it makes nothing
// eligible for RDMA, the package has no DDPBindings:
//
//	var storeV1 = oncrpc.Program{
//		Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings(),
//	}
//
// Set Program.Name and Program.Procedures to have names in errors and logs, as in "NFS3 GETATTR
// (100003 v3 proc 1)".
//
// A [Client] calls the program over any oncrpc.Carrier, such as an rdmaio.Client:
//
//	files := rpc.NewClient(conn, storeV1, nil)
//	var res store.WriteRes
//	err := files.Call(ctx, store.ProcWrite, &store.WriteArgs{Name: name, Data: data}, &res, nil)
//
// A [Service] serves the program. A [Handler] holds services. It is passed to the servers of one or
// several carriers, or set as the handler of reverse Calls. Here write is a func(*rpc.Request,
// *store.WriteArgs, *store.WriteRes) error:
//
//	svc := rpc.NewService(storeV1)
//	rpc.Handle(svc, store.ProcWrite, write)
//	server, err := rdmaio.Listen(ctx, dev, addr, rpc.NewHandler(nil, svc), nil)
//
// Arguments and results of XDR's own types have the types of package oncrpc: Void, Int32, Uint64
// and so on. Procedure "unsigned hyper SQUARE(unsigned int) = 1" is served and called like this:
//
//	rpc.Handle(svc, 1, func(_ *rpc.Request, args *oncrpc.Uint32, res *oncrpc.Uint64) error {
//		*res = oncrpc.Uint64(*args) * oncrpc.Uint64(*args)
//		return nil
//	})
//
//	args, res := oncrpc.Uint32(12), oncrpc.Uint64(0)
//	err := client.Call(ctx, 1, &args, &res, nil)
//
// The stubs that xdrgen generates have the numbers themselves:
//
//	func (s *server) Square(_ *rpc.Request, args uint32, res *uint64) error {
//		*res = uint64(args) * uint64(args)
//		return nil
//	}
//
//	res, err := client.Square(ctx, 12) // a uint64
//
// # Bulk data
//
// Data that the bindings make eligible is not copied into the message. Over RDMA, if it does not
// fit inline, it moves from the sender's memory to the receiver's. A caller that passes memory in
// Options.Results gets eligible results there, and the decoded value points into it: over RDMA the
// server writes long ones, and all others are copied from the message. A result that is longer than
// its memory has its own where the carrier lets it come: read the results from the value. A server
// reads at most rdmaio.Config.MaxReadBytes for one call, 16 MiB by default, and refuses larger
// arguments.
//
// Other results may have up to ClientConfig.MaxReply bytes: by default 16 MiB if their type or
// Client.CallAtMost bounds them, and 512 KiB otherwise. A line such as
//
//	reply STORE_PROGRAM.STORE_V1.STORE_READ count
//
// in the .bind file makes generated clients take the bound from the arguments. The connection
// offers its own memory for results that may not fit inline, and the decoded value is a copy.
// Options.ReplyBuf avoids that copy, and its size replaces the limit.
//
// # Calls that are sent again
//
// A client whose connection is lost sends its calls again on the next one, so a server may execute
// a call twice. Where that does harm, put a reply cache before the handler, and name the procedures
// that do not need it. The lines once in the .bind file do that for a generated service. They also
// tell a generated client which calls it may send again although they were executed
// (ClientConfig.Idempotent).
//
//	svc.Idempotent(store.ProcRead)
//	handler := replycache.New(rpc.NewHandler(nil, svc), nil)
//	server, err := rdmaio.Listen(ctx, dev, addr, handler, nil)
//
// # Around each call
//
// HandlerConfig.Interceptors and ClientConfig.Interceptors are functions that run around each
// procedure or call, with the decoded arguments and results: to authorize, to log, to retry. The
// functions HandlerConfig.Events and ClientConfig.Events get the status, the sizes and the time of
// each call, with the reason of a refusal, and of arguments that cannot be decoded.
// HandlerConfig.Timeout limits Request.Context.
//
// # Users
//
// AUTH_SYS proves nothing. Package gss puts RPCSEC_GSS below a Client and before a Handler, and
// gss.FromContext returns the proved user from Request.Context.
//
// # Errors of a call
//
// Every error of Client.Call is an *[Error], which reports whether the procedure may have run. It
// wraps the reason:
//
//   - an *oncrpc.ReplyError if the server refused the call;
//   - an *oncrpc.CallError if the carrier failed;
//   - an *xdr.Error if the arguments cannot be encoded or the results cannot be decoded;
//   - ErrNilValue if one of them is a nil pointer;
//   - oncrpc.ErrVerf if the verifier of the reply is not accepted.
//
// # Replies that a Handler makes
//
// A Handler answers procedure 0 of each program. As RFC 5531 §9 requires, it answers other calls
// that no procedure can take:
//
//   - RPC_MISMATCH, PROG_UNAVAIL, PROG_MISMATCH with the versions served, PROC_UNAVAIL;
//   - GARBAGE_ARGS if the arguments cannot be decoded, or bytes follow them;
//   - AUTH_ERROR if Service.Allow refuses the caller;
//   - SYSTEM_ERR if the procedure returns an error that oncrpc.Refusal maps to no other status, or
//     panics. The carrier logs such errors.
//
// A panic of a procedure, of an interceptor, of Service.Allow or of a value's methods is an error
// that wraps oncrpc.ErrPanic, and so is the end of the goroutine by runtime.Goexit. The call alone
// fails. With a reply cache it is not executed again. A procedure of HandleAsync that panics after
// it has answered closes the connection.
package rpc
