package nfs4

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Compound is a list of operations, and the memory of their results. Session.Do sends it as
// a COMPOUND. The zero Compound is empty. A Compound must not be used concurrently, and belongs to
// Do until that returns. Results are valid until Reset, or until Do is called again.
//
// Operations without a method are appended by [Add].
type Compound struct {
	// Results is memory for the data of READ and READLINK, in the order of these operations, as in
	// rpc.Options. Reset forgets it.
	Results [][]byte

	// Cred has the rights of the call. If nil, it is Config.Cred. Reset forgets it.
	Cred *oncrpc.OpaqueAuth

	// Repeatable states that all operations may be executed twice without harm, also the ones
	// for which the package assumes otherwise. Reset forgets it.
	Repeatable bool

	ops   []operation // SEQUENCE is not among them
	seq   nfs42.SequenceArgs
	res   nfs42.SequenceRes
	room  int // bytes in the results of ops
	minor uint32
	bare  bool // without SEQUENCE
	probe bool // SEQUENCE alone, which another COMPOUND's reply may answer
	done  int  // operations that succeeded
	ctx   callContext
	opt   rpc.Options
	sub   *submission // of Submit, or nil
}

// operation is one operation, with the memory for its result.
type operation struct {
	op        nfs42ext.Op
	args, res xdr.Value // args may be nil
	own       xdr.Value // memory for args that is kept
	status    nfs42ext.Status
}

// value is the constraint that *T is an xdr.Value.
type value[T any] interface {
	*T
	xdr.Value
	ResetXDR()
}

// Add appends an operation to c. args may be nil for an operation without arguments, and belongs to
// c until Do returns. room is the size limit of the result, in bytes. Add returns the memory for
// the result, whose type must be the operation's.
func Add[T any, P value[T]](c *Compound, op nfs42ext.Op, args xdr.Value, room int) *T {
	var res P
	if n := len(c.ops); n < cap(c.ops) { // the memory of an operation before Reset
		c.ops = c.ops[:n+1]
		res, _ = c.ops[n].res.(P)
	} else {
		c.ops = append(c.ops, operation{})
	}
	if res == nil {
		res = new(T)
	}
	res.ResetXDR()
	at := &c.ops[len(c.ops)-1]
	at.op, at.args, at.res, at.status = op, args, res, 0
	c.room += 8 + room
	return res
}

// add is Add with a copy of the arguments, in memory that c keeps.
func add[T, A any, P value[T], Q value[A]](c *Compound, op nfs42ext.Op, args A, room int) *T {
	var own Q
	if n := len(c.ops); n < cap(c.ops) {
		own, _ = c.ops[: n+1 : n+1][n].own.(Q)
	}
	if own == nil {
		own = new(A)
	}
	*own = args
	res := Add[T, P](c, op, own, room)
	c.ops[len(c.ops)-1].own = own
	return res
}

// Reset makes c empty. It keeps memory for later operations.
func (c *Compound) Reset() {
	c.Results, c.Cred, c.Repeatable = nil, nil, false
	c.ops, c.room, c.done, c.bare = c.ops[:0], 0, 0, false
}

// Len returns the number of operations.
func (c *Compound) Len() int { return len(c.ops) }

// Succeeded returns the number of operations that succeeded in the last Do: their results are
// valid, also if a later operation was refused.
func (c *Compound) Succeeded() int { return c.done }

// repeatable reports whether the first n operations may be executed twice without harm.
func (c *Compound) repeatable(n int) bool {
	for i := range c.ops[:n] {
		if !c.Repeatable && !harmless(c.ops[i].op) {
			return false
		}
	}
	return true
}

// harmless reports whether an operation only reads, or sets the current handle.
func harmless(op nfs42ext.Op) bool {
	switch op {
	case nfs42ext.OpAccess, nfs42ext.OpGetAttr, nfs42ext.OpGetFH, nfs42ext.OpLookup, nfs42ext.OpLookupP, nfs42ext.OpPutFH, nfs42ext.OpPutRootFH,
		nfs42ext.OpPutPubFH, nfs42ext.OpRead, nfs42ext.OpReadDir, nfs42ext.OpReadLink, nfs42ext.OpRestoreFH, nfs42ext.OpSaveFH, nfs42ext.OpSecInfo,
		nfs42ext.OpSecInfoNoName, nfs42ext.OpVerify, nfs42ext.OpNverify, nfs42ext.OpCommit, nfs42ext.OpTestStateID, nfs42ext.OpLockT, nfs42ext.OpWrite,
		nfs42ext.OpSeek, nfs42ext.OpReadPlus, nfs42ext.OpGetXattr, nfs42ext.OpListXattrs,
		nfs42ext.OpExchangeID, nfs42ext.OpBindConnToSession, nfs42ext.OpReclaimComplete:
		return true
	}
	return false
}

// arguments are the arguments of the COMPOUND as an xdr.Value.
type arguments Compound

// XDRSize implements xdr.Value.
func (a *arguments) XDRSize() int {
	n := 12
	if !a.bare {
		n += 4 + a.seq.XDRSize()
	}
	for i := range a.ops {
		if n += 4; a.ops[i].args != nil {
			n += a.ops[i].args.XDRSize()
		}
	}
	return n
}

// EncodeXDR implements xdr.Value: no tag, the minor version, and the operations.
func (a *arguments) EncodeXDR(e *xdr.Encoder) error {
	b, err := e.Next(12)
	if err != nil {
		return err
	}
	n := len(a.ops)
	if !a.bare {
		n++
	}
	binary.BigEndian.PutUint32(b[0:4], 0)
	binary.BigEndian.PutUint32(b[4:8], a.minor)
	binary.BigEndian.PutUint32(b[8:12], uint32(n))
	if !a.bare {
		if err := put(e, nfs42ext.OpSequence, &a.seq); err != nil {
			return err
		}
	}
	for i := range a.ops {
		if err := put(e, a.ops[i].op, a.ops[i].args); err != nil {
			return fmt.Errorf("%v, operation %d: %w", a.ops[i].op, i, err)
		}
	}
	return nil
}

// put encodes an operation.
func put(e *xdr.Encoder, op nfs42ext.Op, args xdr.Value) error {
	b, err := e.Next(4)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b, uint32(op))
	if args == nil {
		return nil
	}
	return args.EncodeXDR(e)
}

// DecodeXDR implements xdr.Value. It is not called: a client only encodes COMPOUNDs.
func (a *arguments) DecodeXDR(*xdr.Decoder) error { return errDirection }

// results are the results of the COMPOUND as an xdr.Value.
type results Compound

// XDRSize implements xdr.Value. Results are only read.
func (r *results) XDRSize() int { return 0 }

// EncodeXDR implements xdr.Value. It is not called: a client only decodes results.
func (r *results) EncodeXDR(*xdr.Encoder) error { return errDirection }

// DecodeXDR reads the results, and compares each with its operation (RFC 8881 §15.2, §16.2).
func (r *results) DecodeXDR(d *xdr.Decoder) error {
	r.done = 0
	status, n, err := resultsHead(d)
	if err != nil {
		return err
	}
	if r.probe && n > 0 { // RFC 8881 §2.10.6.2: the cached reply of what the slot executed
		if _, err = r.result(d, 0); err == nil {
			_, err = d.Next(len(d.Rest()))
		}
		return err
	}
	ops := len(r.ops)
	if !r.bare {
		ops++
	}
	if n > ops {
		return violation("%d results of %d operations (RFC 8881 §16.2.3)", n, ops)
	}
	last := nfs42ext.StatusOK
	for i := range n {
		if last != nfs42ext.StatusOK {
			return violation("a result after one with %v (RFC 8881 §15.2.3)", last)
		}
		if last, err = r.result(d, i); err != nil {
			return err
		}
	}
	switch {
	case n == 0 && status == nfs42ext.StatusOK, n > 0 && status != last:
		return violation("the status %v with %d results, the last one with %v (RFC 8881 §16.2.3)", status, n, last)
	case n < ops && last == nfs42ext.StatusOK && n > 0:
		return violation("%d results of %d operations, without an error (RFC 8881 §16.2.3)", n, ops)
	case n == 0: // the server has not begun: for example, another minor version
		return &StatusError{Index: -1, Status: status}
	}
	return nil
}

// resultsHead reads the words before the results: the status and the number of results.
func resultsHead(d *xdr.Decoder) (status nfs42ext.Status, n int, err error) {
	b, err := d.Next(8)
	if err != nil {
		return 0, 0, err
	}
	status = nfs42ext.Status(binary.BigEndian.Uint32(b[0:4]))
	if tag := binary.BigEndian.Uint32(b[4:8]); tag != 0 {
		return 0, 0, violation("a tag of %d bytes, none was sent (RFC 8881 §16.2.3)", tag)
	}
	if b, err = d.Next(4); err != nil {
		return 0, 0, err
	}
	count := binary.BigEndian.Uint32(b)
	if uint64(count)*8 > uint64(len(d.Rest())) {
		return 0, 0, violation("%d results in %d bytes", count, len(d.Rest()))
	}
	return status, int(count), nil
}

// result reads result i and returns its status.
func (r *results) result(d *xdr.Decoder, i int) (nfs42ext.Status, error) {
	op, res := nfs42ext.OpSequence, xdr.Value(&r.res)
	if !r.bare {
		i--
	}
	if i >= 0 {
		op, res = r.ops[i].op, r.ops[i].res
	}
	b := d.Rest()
	if len(b) < 8 {
		return 0, violation("no more bytes in the result for %v, operation %d", op, i)
	}
	found, status := nfs42ext.Op(binary.BigEndian.Uint32(b[0:4])), nfs42ext.Status(binary.BigEndian.Uint32(b[4:8]))
	// RFC 8881 §18.56: a server that does not know an operation answers with OP_ILLEGAL.
	illegal := found == nfs42ext.OpIllegal && status == nfs42ext.StatusOpIllegal
	if found != op && !illegal {
		return 0, violation("the result of %v, operation %d is %v (RFC 8881 §16.2.3)", found, i, op)
	}
	if _, err := d.Next(4); err != nil {
		return 0, err
	}
	if illegal {
		_, err := d.Next(4)
		return r.note(i, status), err
	}
	if err := res.DecodeXDR(d); err != nil {
		return 0, fmt.Errorf("the result of %v, operation %d: %w", op, i, err)
	}
	return r.note(i, status), nil
}

// note keeps the status of an operation.
func (r *results) note(i int, status nfs42ext.Status) nfs42ext.Status {
	if i >= 0 {
		if r.ops[i].status = status; status == nfs42ext.StatusOK {
			r.done = i + 1
		}
	}
	return status
}

// refusal returns the error of the operation that failed, or nil.
func (c *Compound) refusal() error {
	if !c.bare && c.res.Status != nfs42.StatusOK {
		return &StatusError{Op: nfs42ext.OpSequence, Index: -1, Status: nfs42ext.Status(c.res.Status)}
	}
	if c.done == len(c.ops) {
		return nil
	}
	op := &c.ops[c.done]
	return &StatusError{Op: op.op, Index: c.done, Status: op.status}
}

// most returns the size limit of the reply.
func (c *Compound) most() uint64 {
	return uint64(rpc.ReplyHead + 12 + 44 + c.room)
}
