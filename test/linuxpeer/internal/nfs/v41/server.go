// Package v41 answers EXCHANGE_ID of NFS version 4.1, with which a client begins, and no other
// operation.
package v41

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/nfs41"
)

// compound is the argument of COMPOUND up to its first operation. If that is not EXCHANGE_ID alone
// in minor version 1, the rest is skipped: only the types of an operation say where it ends.
type compound struct {
	head       nfs41.CompoundHead
	op         uint32 // the first operation, if the head counts any
	exchangeID nfs41.ExchangeIDArgs
}

// DecodeXDR implements xdr.Value.
func (c *compound) DecodeXDR(d *xdr.Decoder) error {
	if err := c.head.DecodeXDR(d); err != nil {
		return err
	}
	if c.op = 0; c.head.Operations > 0 {
		word, err := d.Next(4)
		if err != nil {
			return err
		}
		c.op = binary.BigEndian.Uint32(word)
	}
	if c.isExchangeID() {
		return c.exchangeID.DecodeXDR(d)
	}
	_, err := d.Next(len(d.Rest())) // all of it
	return err
}

// isExchangeID reports whether the argument is EXCHANGE_ID alone in minor version 1.
func (c *compound) isExchangeID() bool {
	return c.head.MinorVersion == 1 && c.head.Operations == 1 && c.op == nfs41.OpExchangeID
}

// EncodeXDR implements xdr.Value.
func (c *compound) EncodeXDR(e *xdr.Encoder) error {
	if err := c.head.EncodeXDR(e); err != nil || c.head.Operations == 0 {
		return err
	}
	op := oncrpc.Uint32(c.op)
	if err := op.EncodeXDR(e); err != nil || !c.isExchangeID() {
		return err
	}
	return c.exchangeID.EncodeXDR(e)
}

// XDRSize implements xdr.Value.
func (c *compound) XDRSize() int {
	switch {
	case c.head.Operations == 0:
		return c.head.XDRSize()
	case !c.isExchangeID():
		return c.head.XDRSize() + 4
	}
	return c.head.XDRSize() + 4 + c.exchangeID.XDRSize()
}

// Server is the service of NFS version 4: NULL, and EXCHANGE_ID of minor version 1. It is safe for
// concurrent use.
type Server struct{ exchanges atomic.Int64 }

// Exchanges returns the number of EXCHANGE_ID that were answered.
func (s *Server) Exchanges() int { return int(s.exchanges.Load()) }

// Handler returns the handler of the service.
func (s *Server) Handler() oncrpc.Handler {
	svc := rpc.NewService(oncrpc.Program{
		Number: nfs41.Program, Version: nfs41.Version, Name: "NFS4", Procedures: map[uint32]string{nfs41.ProcCompound: "COMPOUND"},
	})
	rpc.Handle(svc, nfs41.ProcCompound, s.compound)
	return rpc.NewHandler(nil, svc)
}

// compound answers EXCHANGE_ID alone (RFC 5661 §18.35), and refuses any other operation.
func (s *Server) compound(_ *rpc.Request, args *compound, res *nfs41.CompoundRes) error {
	res.Tag = append(res.Tag[:0], args.head.Tag...)
	switch {
	case args.head.MinorVersion != 1:
		res.Status = nfs41.StatusMinorVersMismatch
	case args.head.Operations == 0:
	case !args.isExchangeID(): // RFC 5661 §18.35.3: it comes alone
		res.Status = nfs41.StatusNotsupp
		res.Results = []nfs41.ResOp{{Resop: args.op, Status: res.Status, ExchangeID: nfs41.ExchangeIDRes{Status: res.Status}}}
	case args.exchangeID.StateProtect.How != nfs41.StateProtectHowNone:
		res.Status = nfs41.StatusNotsupp
		res.Results = []nfs41.ResOp{{Resop: args.op, ExchangeID: nfs41.ExchangeIDRes{Status: res.Status}}}
	default:
		s.exchanges.Add(1)
		owner := []byte("rpcrdma v41")
		res.Results = []nfs41.ResOp{{Resop: args.op, ExchangeID: nfs41.ExchangeIDRes{OK: &nfs41.ExchangeIDResOK{
			ClientID: 1, SequenceID: 1, Flags: nfs41.FlagUseNonPNFS,
			ServerOwner: nfs41.ServerOwner{MajorID: owner}, ServerScope: owner,
		}}}}
	}
	return nil
}
