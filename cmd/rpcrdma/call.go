package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/internal/jsontext"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

type callCmd struct {
	Data     *string       `short:"d"`
	Template bool          `name:"template"`
	Cred     credential    `default:"none"`
	Timeout  time.Duration `short:"W" default:"5s"`
	JSON     bool          `name:"json"`
	interfaceFlags
	remoteFlags
	File      string `arg:""`
	Host      string `arg:""`
	Procedure string `arg:"" optional:""`
}

// joinData returns a command line of call with the value of -d joined to the flag: the parser takes
// no separate value that begins with -, such as a negative number.
func joinData(args []string) []string {
	if len(args) == 0 || args[0] != "call" {
		return args
	}
	args = slices.Clone(args)
	for i := 1; i+1 < len(args) && args[i] != "--"; i++ {
		if slices.Contains([]string{"-d", "-data", "--data"}, args[i]) {
			args = slices.Replace(args, i, i+2, "--data="+args[i+1])
		}
	}
	return args
}

// run makes one call, or one for each line of standard input.
func (c *callCmd) run(ctx context.Context, env environment) error {
	if c.Template && c.Procedure == "" {
		c.Procedure = c.Host
	}
	lines := c.Data != nil && *c.Data == "-"
	env.json = env.json || lines // each line has an object
	host, port, err := c.Host, uint16(0), error(nil)
	if !oncrpc.IsLocal(host) {
		host, port, err = splitHostPort(c.Host, "0")
	}
	switch {
	case c.addressFirst():
		return &failure{
			code: exitUsage, stage: "call", err: fmt.Errorf("found the address %s, expected the interface file first", c.File),
			help: fmt.Sprintf("rpcrdma call %s %s %s", c.Host, c.File, cmp.Or(c.Procedure, "PROGRAM.VERSION.PROCEDURE")),
		}
	case c.Procedure == "":
		return c.missing(env)
	case lines && c.File == "-":
		err = errors.New("FILE and -d are both standard input")
	case c.Template:
		err = nil
	case err == nil && host == "":
		err = fmt.Errorf("address %q: found no host, expected HOST or HOST:PORT", c.Host)
	case err == nil && c.Timeout <= 0:
		err = fmt.Errorf("-W is %v, must be positive", c.Timeout)
	case err == nil:
		err = errors.Join(c.remoteFlags.check(), c.remoteFlags.checkLocal(host))
	}
	if err != nil {
		return &failure{code: exitUsage, stage: "call", err: err}
	}
	unit, err := c.compile(env, c.File)
	if err != nil {
		return err
	}
	proc, err := procedure(unit.Unit, c.Procedure)
	if err != nil {
		return err
	}
	if c.Template {
		return printTemplate(env, proc)
	}
	caller := &caller{callCmd: c, env: env, proc: proc, eligible: bindings(unit), host: host, port: port}
	if lines {
		return caller.lines(ctx)
	}
	return caller.once(ctx)
}

// addressFirst reports whether the arguments have the address in the place of the file: there is no
// such file, and it has a port.
func (c *callCmd) addressFirst() bool {
	if _, err := os.Stat(c.File); err == nil || !strings.Contains(c.File, ":") {
		return false
	}
	host, port, err := splitHostPort(c.File, "0")
	return oncrpc.IsLocal(c.File) || err == nil && host != "" && port != 0
}

// missing returns a usage error that has the procedures of the file.
func (c *callCmd) missing(env environment) error {
	f := &failure{code: exitUsage, stage: "call", err: errors.New("PROGRAM.VERSION.PROCEDURE is missing")}
	if unit, err := c.compile(env, c.File); err == nil {
		f.help = some(dynamic.Procedures(unit.Unit))
	}
	return f
}

// printTemplate prints arguments to fill in.
func printTemplate(env environment, p *dynamic.Procedure) error {
	v, err := dynamic.Template(p.Args(), dynamic.Limits{Values: 1 << 14})
	if err != nil {
		return &failure{code: exitInput, stage: "template of " + p.String(), err: err}
	}
	return printIndented(env, dynamic.AppendJSON(nil, v))
}

// printIndented prints JSON on several lines.
func printIndented(env environment, text []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.stdout, "%s\n", jsontext.Printable(out.Bytes()))
	return err
}

// caller makes the calls of a command.
type caller struct {
	*callCmd
	env      environment
	proc     *dynamic.Procedure
	eligible []ir.DDPBinding
	host     string
	port     uint16 // 0: not given
	remote   *remote
	client   *rpc.Client
}

// once makes one call with the arguments of -d, or void, and prints the results.
func (c *caller) once(ctx context.Context) (err error) {
	text := "{}"
	switch {
	case c.Data != nil:
		text = *c.Data
	case len(c.proc.Proc.Args) > 0:
		return &failure{
			code: exitInput, stage: "arguments", err: fmt.Errorf("-d is missing: %s has arguments", c.proc),
			help: fmt.Sprintf("rpcrdma call -template %s %s", c.File, c.proc),
		}
	}
	args, err := c.parse([]byte(text))
	if err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.remote.close()) }()
	value, err := c.call(ctx, args)
	if err != nil {
		return err
	}
	if c.env.json {
		c.print(value, nil)
		return nil
	}
	return printIndented(c.env, value)
}

// print prints an object with results.
func (c *caller) print(value []byte, more map[string]any) {
	fields := map[string]any{"xdr_type": c.proc.String() + ".result", "value": json.RawMessage(value)}
	for k, v := range more {
		fields[k] = v
	}
	printJSON(c.env, "value", fields)
}

// parse returns the arguments in JSON. The error is a *failure.
func (c *caller) parse(text []byte) (*arguments, error) {
	args, err := parseArguments(c.proc, c.eligible, text)
	if err != nil {
		return nil, inputFailure(text, err)
	}
	return args, nil
}

// inputFailure returns an error of parseArguments with its place in the text.
func inputFailure(text []byte, err error) *failure {
	f := &failure{code: exitInput, stage: "arguments", err: err, help: "rpcrdma call -template, which prints valid arguments"}
	if bytes.HasPrefix(text, []byte("@")) {
		f.help = "-d - < " + string(text[1:min(len(text), 65)]) + ", to read arguments from a file"
	}
	var fault *dynamic.Error
	if !errors.As(err, &fault) {
		return f
	}
	at := min(fault.Offset, len(text))
	place := fmt.Sprintf("column %d", at-bytes.LastIndexByte(text[:at], '\n'))
	if line := bytes.Count(text[:at], []byte("\n")) + 1; line > 1 {
		place = fmt.Sprintf("line %d, %s", line, place)
	}
	if fault.Path != "" {
		place = fault.Path + ": " + place
	}
	f.err = fmt.Errorf("%s: %s (%s)", place, fault.Message, fault.Rule())
	if fault.Note != "" {
		f.help = fault.Note
	}
	f.more = map[string]any{"path": fault.Path, "offset": fault.Offset}
	return f
}

// connect connects to the server. The error is a *failure.
func (c *caller) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	p := program(c.proc, c.eligible)
	var err error
	if c.remote, err = c.remoteFlags.connect(ctx, c.env, c.host, c.port, p, c.Timeout); err != nil {
		return err
	}
	c.client = rpc.NewClient(c.remote, p, &rpc.ClientConfig{Cred: c.Cred.OpaqueAuth, MaxReply: int(c.MaxReply)})
	return nil
}

// call makes one call and returns the results as JSON. The error is a *failure.
func (c *caller) call(ctx context.Context, args *arguments) ([]byte, error) {
	limit, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	to, res := newResults(c.proc)
	if err := c.client.Call(limit, c.proc.Proc.Number, args, to, nil); err != nil {
		return nil, explainCall(c.remote.addr, err)
	}
	v, err := dynamic.DecodeAll(res.body, c.proc.Result(), dynamic.Limits{Values: min(1<<20, 1024+len(res.body))})
	if err != nil {
		return nil, &failure{
			code: exitPeer, stage: "results from " + c.remote.addr, err: err,
			help: "the interface file of the server: these results do not fit " + c.proc.String() + " of " + c.File,
			more: map[string]any{"may_have_run": true},
		}
	}
	return dynamic.AppendJSON(nil, v), nil
}

// explainCall returns a failure for an error of package rpc.
func explainCall(addr string, err error) *failure {
	var failed *rpc.Error
	ran := errors.As(err, &failed) && failed.MayHaveRun
	f := explainTCP("call", addr, err)
	f.more = map[string]any{"may_have_run": ran}
	var refused *oncrpc.ReplyError
	switch {
	case errors.As(err, &refused):
		f.code = exitPeer
		refusalFields(f.more, refused)
		f.help = refusalAdvice(refused)
	case ran && f.code == exitFailed:
		f.code = exitMayRun
	}
	var sent *oncrpc.CallError
	if ran && !errors.As(err, &sent) { // its text says so
		f.err = fmt.Errorf("%w; the server may have executed the procedure", f.err)
	}
	return f
}

// refusalFields adds the status of a refusal (RFC 5531 §9) to the fields of a JSON object.
func refusalFields(fields map[string]any, r *oncrpc.ReplyError) {
	fields["reply_stat"] = r.Reply.String()
	status := r.Accept.String()
	switch {
	case r.Reply != oncrpc.Denied:
		fields["accept_stat"] = status
	case r.Reject == oncrpc.AuthError:
		fields["reject_stat"], fields["auth_stat"] = r.Reject.String(), r.Auth.String()
	default:
		fields["reject_stat"] = r.Reject.String()
	}
	if r.Is(oncrpc.ErrProgMismatch) || r.Is(oncrpc.ErrRPCMismatch) {
		fields["low"], fields["high"] = r.Range.Low, r.Range.High
	}
}

// refusalAdvice says what to try after a refusal.
func refusalAdvice(r *oncrpc.ReplyError) string {
	switch {
	case r.Is(oncrpc.ErrProgUnavail):
		return "another port: rpcrdma info HOST lists the programs of a host and where they are"
	case r.Is(oncrpc.ErrProgMismatch):
		return "a version that the server has"
	case r.Is(oncrpc.ErrProcUnavail):
		return "the interface file of the server: it does not have this procedure"
	case r.Is(oncrpc.ErrGarbageArgs):
		return "the interface file of the server: it declares other arguments for this procedure"
	case r.Is(oncrpc.ErrAuth) && r.Auth == oncrpc.AuthStatTooWeak:
		return "-tls required, if the connection has no TLS; another -cred, such as sys:1000:100"
	case r.Is(oncrpc.ErrAuth):
		return "another -cred, such as sys:1000:100, or -tls required if the server wants it"
	}
	return "read the server's log"
}
