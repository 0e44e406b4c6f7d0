package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/internal/nlm"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// callLog is a Handler that passes calls on, and writes a line for each answer.
type callLog struct {
	next oncrpc.Handler
	json bool
	out  io.Writer // gets each line in one Write, from several goroutines
}

// entry is a line of the log.
type entry struct {
	V          int           `json:"v"`
	Type       string        `json:"type"`
	Time       time.Time     `json:"time"`
	Peer       string        `json:"peer"`
	Program    uint32        `json:"program"`
	Version    uint32        `json:"version"`
	Procedure  string        `json:"procedure"`
	Status     string        `json:"status"`
	CallBytes  int           `json:"call_bytes"`
	ReplyBytes int           `json:"reply_bytes"`
	Duration   time.Duration `json:"duration_ns"`
}

// ReplyBound implements oncrpc.Bounder.
func (l *callLog) ReplyBound(program, version, procedure uint32) int {
	return oncrpc.BoundOf(l.next, program, version, procedure)
}

// ServeRPC implements oncrpc.Handler.
func (l *callLog) ServeRPC(r *oncrpc.Request) {
	prog, vers, proc, _ := oncrpc.Procedure(r.Message)
	e := entry{V: 1, Type: "call", Time: time.Now(), Peer: r.Conn().RemoteAddr(), Program: prog, Version: vers, CallBytes: len(r.Message)}
	e.Procedure = fmt.Sprint(proc)
	for _, p := range []oncrpc.Program{nfs3rpc.Program(), mount3rpc.Program(), nlm4rpc.Program(), nlm.Monitor()} {
		if name := p.Procedures[proc]; p.Number == prog && p.Version == vers && name != "" {
			e.Procedure = name
		}
	}
	r.Responder = &logged{Responder: r.Responder, log: l, entry: e}
	l.next.ServeRPC(r)
}

// logged writes the line of a call when it is answered.
type logged struct {
	oncrpc.Responder
	log   *callLog
	entry entry
}

// Reply implements oncrpc.Responder.
func (r *logged) Reply(m oncrpc.Message, done func(error)) {
	r.entry.Status, r.entry.ReplyBytes = r.status(&m), m.Size(nil)
	r.log.write(&r.entry)
	r.Responder.Reply(m, done)
}

// Drop implements oncrpc.Responder.
func (r *logged) Drop(done func(error)) {
	r.entry.Status = "dropped"
	r.log.write(&r.entry)
	r.Responder.Drop(done)
}

// status returns the status of a reply: that of RPC or, if the results have one, of NFS, MOUNT or
// NLM.
func (r *logged) status(m *oncrpc.Message) string {
	var h oncrpc.Header
	d := xdr.NewDecoder(m.Inline, nil)
	if err := h.DecodeXDR(d); err != nil {
		return "malformed"
	}
	var refused *oncrpc.ReplyError
	if err := oncrpc.CheckReply(&h, h.XID); errors.As(err, &refused) {
		switch {
		case refused.Reply == oncrpc.Accepted:
			return refused.Accept.String()
		case refused.Reject == oncrpc.AuthError:
			return refused.Auth.String()
		}
		return refused.Reject.String()
	}
	var cookie nlm4.Object // before the status
	if r.entry.Program == nlm4.Program && cookie.DecodeXDR(d) != nil {
		return oncrpc.Success.String()
	}
	var word oncrpc.Uint32
	if word.DecodeXDR(d) == nil {
		switch name := r.entry.Procedure; {
		case r.entry.Program == nfs3.Program:
			return nfs3.Status(word).String()
		case r.entry.Program == nlm4.Program:
			return nlm4.Status(word).String()
		case r.entry.Program == mount3.Program && name == mount3rpc.Program().Procedures[mount3.ProcMount]:
			return mount3.Status(word).String()
		}
	}
	return oncrpc.Success.String()
}

// write writes a line. A log that cannot be written does not stop the server.
func (l *callLog) write(e *entry) {
	e.Duration = time.Since(e.Time)
	line := fmt.Appendf(nil, "%s program %d v%d %s: %s, %d bytes, reply %d bytes, %v\n",
		e.Peer, e.Program, e.Version, e.Procedure, e.Status, e.CallBytes, e.ReplyBytes, e.Duration)
	if l.json {
		line, _ = json.Marshal(e) // cannot fail
		line = append(line, '\n')
	}
	_, _ = l.out.Write(line)
}
