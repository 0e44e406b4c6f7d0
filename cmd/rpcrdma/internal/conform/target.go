package conform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The test program, of conform.x.
const (
	Program = program.Program
	Version = program.Version1
)

// Target is a server that is tested. It is for one goroutine.
type Target struct {
	Carrier Carrier
	Addr    string        // HOST:PORT
	Device  verbs.Device  // over RDMA
	Program uint32        // that the server has
	Version uint32        // of Program
	Wait    time.Duration // the limit for each case

	xid uint32 // the last one
}

// quiet is the time in which a further answer would come, after the answer to the probe.
const quiet = 100 * time.Millisecond

// null returns a call of procedure 0 with the next XID.
func (t *Target) null() call { return t.call(0, nil) }

// call returns a call of the program with the next XID.
func (t *Target) call(proc uint32, args []byte) call {
	if t.xid == 0 {
		t.xid = uint32(time.Now().UnixNano()) // a server may remember an earlier run's
	}
	t.xid++
	return call{xid: t.xid, rpc: rpcVersion, prog: t.Program, vers: t.Version, proc: proc, args: args}
}

// echo reports whether the program is the test program.
func (t *Target) echo() bool { return t.Program == Program && t.Version == Version }

// Run runs one case. It takes Wait at most, for each of its connections. The error
// is the reason why a connection cannot be made, which is not a result.
func (t *Target) Run(ctx context.Context, c *Case) (*Result, error) {
	res := &Result{Case: c}
	switch {
	case c.On&t.Carrier == 0:
		res.Skipped = fmt.Sprintf("a case of %v", c.On)
		return res, nil
	case c.Echo && !t.echo():
		res.Skipped = "needs the test program: rpcrdma serve, or conform.x"
		return res, nil
	}
	limit, cancel := context.WithTimeout(ctx, t.Wait)
	defer cancel()
	w, err := t.dial(limit)
	if err != nil {
		return nil, err
	}
	defer w.close()
	x := &exchange{t: t, w: w, c: c, end: time.Now().Add(t.Wait), answers: map[uint32]string{}}
	if d, ok := limit.Deadline(); ok {
		x.end = d
	}
	res.Passed = true
	for _, s := range c.steps(t) {
		if !x.step(ctx, &s, res) {
			break
		}
	}
	if !res.Passed {
		return res, nil
	}
	usable := !x.closed && !c.unusable
	if usable && !x.probed && !x.probe() {
		res.fail("an answer to the next Call on the connection", x.after())
	}
	if x.stray != "" {
		res.fail("no other answer", x.stray)
	}
	if !usable {
		t.alive(ctx, res)
	}
	return res, nil
}

// alive makes another connection, whose null call must be answered.
func (t *Target) alive(ctx context.Context, res *Result) {
	limit, cancel := context.WithTimeout(ctx, t.Wait)
	defer cancel()
	w, err := t.dial(limit)
	if err != nil {
		res.fail("an answer on the next connection", err.Error())
		return
	}
	defer w.close()
	x := &exchange{t: t, w: w, end: time.Now().Add(t.Wait), answers: map[uint32]string{}}
	if !x.probe() {
		res.fail("an answer on the next connection", x.after())
	}
}

// fail notes what the case has shown. The first failure stays.
func (r *Result) fail(expected, came string) {
	if r.Passed {
		r.Passed, r.Expected, r.Came = false, expected, came
	}
}

// Ping makes a connection and a null call, for an error that says why no case can be run.
func (t *Target) Ping(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, t.Wait)
	defer cancel()
	w, err := t.dial(limit)
	if err != nil {
		return err
	}
	defer w.close()
	x := &exchange{t: t, w: w, end: time.Now().Add(t.Wait), answers: map[uint32]string{}}
	if x.probe() {
		return nil
	}
	return fmt.Errorf("a null call of program %d version %d: %w: %s", t.Program, t.Version, ErrNull, x.after())
}

// ErrNull reports that the null call before all cases did not succeed.
var ErrNull = errors.New("not answered with SUCCESS")
