package rpcrdma2

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets prove R28, R29, R30, R31, R32, R212 and R324 beyond the vectors.

func FuzzHeaderPrefix(f *testing.F)          { xdrtest.Fuzz[HeaderPrefix](f, xdrtest.Load(f)) }
func FuzzMsg(f *testing.F)                   { xdrtest.Fuzz[Msg](f, xdrtest.Load(f)) }
func FuzzNomsg(f *testing.F)                 { xdrtest.Fuzz[Nomsg](f, xdrtest.Load(f)) }
func FuzzError(f *testing.F)                 { xdrtest.Fuzz[Error](f, xdrtest.Load(f)) }
func FuzzConnProp(f *testing.F)              { xdrtest.Fuzz[ConnProp](f, xdrtest.Load(f)) }
func FuzzPropMaxSendSize(f *testing.F)       { xdrtest.Fuzz[PropMaxSendSize](f, xdrtest.Load(f)) }
func FuzzPropReceiveBufferSize(f *testing.F) { xdrtest.Fuzz[PropReceiveBufferSize](f, xdrtest.Load(f)) }

func FuzzPropMaxSegmentSize(f *testing.F) { xdrtest.Fuzz[PropMaxSegmentSize](f, xdrtest.Load(f)) }

func FuzzPropMaxSegmentCount(f *testing.F) { xdrtest.Fuzz[PropMaxSegmentCount](f, xdrtest.Load(f)) }

func FuzzPropReverseSupport(f *testing.F) { xdrtest.Fuzz[PropReverseSupport](f, xdrtest.Load(f)) }
func FuzzPropHostAuth(f *testing.F)       { xdrtest.Fuzz[PropHostAuth](f, xdrtest.Load(f)) }
func FuzzPropSubset(f *testing.F)         { xdrtest.Fuzz[PropSubset](f, xdrtest.Load(f)) }
