package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// answer holds the answers of a service, up to the error.
type answer struct {
	asked    bool
	err      error
	took     time.Duration // of the first null call
	mismatch *oncrpc.VersionRange
	versions []uint32 // that answered a null call
	refused  *oncrpc.ReplyError
	tls      string        // "offered" or "not offered"; empty if it was not asked
	terms    *rdmaio.Terms // over RDMA
	credits  int           // over RDMA: those that the reply granted
}

// maxVersions is the largest number of versions that are called for a program.
const maxVersions = 16

// noVersion is a version that no program has: a server answers it with those that it has.
const noVersion = math.MaxUint32

// askTCP asks a service over TCP: its versions, and whether it offers TLS.
func (c *infoCmd) askTCP(ctx context.Context, s *service) {
	s.asked = true
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := tcp.Dial(ctx, s.at.String(), nil)
	if err != nil {
		s.err = err
		return
	}
	defer func() { _ = conn.Close() }()
	if s.askVersions(ctx, conn); s.err == nil {
		s.askTLS(ctx, conn)
	}
}

// null calls procedure 0 of a version.
func (s *service) null(ctx context.Context, conn oncrpc.Carrier, version uint32, cfg *rpc.ClientConfig) error {
	program := oncrpc.Program{Number: s.program, Version: version}
	if s.given {
		program.Number = nfsProgram
	}
	return rpc.NewClient(conn, program, cfg).Call(ctx, 0, nil, nil, nil)
}

// nfsProgram is called where the program is not known.
const nfsProgram = 100003

// askVersions finds the versions that a service has. RFC 5531 §9: PROG_MISMATCH has the lowest and
// the highest, between which some may be missing.
func (s *service) askVersions(ctx context.Context, conn oncrpc.Carrier) {
	var refused *oncrpc.ReplyError
	start := time.Now()
	err := s.null(ctx, conn, noVersion, nil)
	s.took = time.Since(start)
	ask := s.registered
	switch {
	case err == nil: // it takes any version
	case !errors.As(err, &refused):
		s.err = err
		return
	case refused.Is(oncrpc.ErrProgMismatch):
		s.mismatch = &refused.Range
		if low, n := refused.Range.Low, int64(refused.Range.High)-int64(refused.Range.Low)+1; n > 0 && n <= maxVersions {
			ask = nil
			for v := range uint32(n) {
				ask = append(ask, low+v)
			}
		}
	default:
		s.refused = refused
		return
	}
	for _, v := range ask[:min(len(ask), maxVersions)] {
		err := s.null(ctx, conn, v, nil)
		switch {
		case err == nil:
			s.versions = append(s.versions, v)
		case !errors.As(err, &refused):
			s.err = err
			return
		case !refused.Is(oncrpc.ErrProgMismatch):
			s.refused = refused
		}
	}
}

// askTLS asks whether the server offers TLS (RFC 9289 §4.1): the verifier of a null call with
// AUTH_TLS then is AUTH_NONE with the body STARTTLS. The connection cannot be used afterwards.
func (s *service) askTLS(ctx context.Context, conn oncrpc.Carrier) {
	s.tls = "not offered"
	cfg := &rpc.ClientConfig{
		Cred: oncrpc.OpaqueAuth{Flavor: oncrpc.AuthTLS},
		CheckVerf: func(_, verf *oncrpc.OpaqueAuth) error {
			if verf.Flavor == oncrpc.AuthNone && string(verf.Body) == "STARTTLS" {
				s.tls = "offered"
			}
			return nil
		},
	}
	version := uint32(noVersion)
	if len(s.versions) > 0 {
		version = s.versions[0]
	}
	var refused *oncrpc.ReplyError
	if err := s.null(ctx, conn, version, cfg); err != nil && !errors.As(err, &refused) {
		s.tls = ""
	}
}

// askRDMA asks a service over RDMA: the terms of a connection, credits and versions.
func (c *infoCmd) askRDMA(ctx context.Context, f *fabric, dev verbs.Device, s *service) {
	s.asked = true
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	addr := s.addr
	if s.at.IsValid() {
		addr = s.at.String()
	}
	conn, _, err := dial(ctx, f.flags, dev, addr, f.dialConfig(c.Timeout))
	if err != nil {
		s.err = err
		return
	}
	defer func() { _ = conn.Close() }()
	terms := conn.Terms()
	s.terms = &terms
	s.askVersions(ctx, conn)
	s.credits = conn.Stats().Granted
	slices.Sort(s.versions)
}
