package rpcrdma2

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// The targets prove R28, R29, R30, R31, R32, R212 and R324 beyond the vectors.

func FuzzHeaderPrefix(f *testing.F) { xdrtest.Fuzz[HeaderPrefix](f, xdrtest.Load(f)) }
func FuzzMsg(f *testing.F)          { xdrtest.Fuzz[Msg](f, xdrtest.Load(f)) }
func FuzzNomsg(f *testing.F)        { xdrtest.Fuzz[Nomsg](f, xdrtest.Load(f)) }
func FuzzError(f *testing.F)        { xdrtest.Fuzz[Error](f, xdrtest.Load(f)) }
func FuzzConnProp(f *testing.F)     { xdrtest.Fuzz[ConnProp](f, xdrtest.Load(f)) }
func FuzzPropSbsiz(f *testing.F)    { xdrtest.Fuzz[PropSbsiz](f, xdrtest.Load(f)) }
func FuzzPropRbsiz(f *testing.F)    { xdrtest.Fuzz[PropRbsiz](f, xdrtest.Load(f)) }
func FuzzPropRssiz(f *testing.F)    { xdrtest.Fuzz[PropRssiz](f, xdrtest.Load(f)) }
func FuzzPropRcsiz(f *testing.F)    { xdrtest.Fuzz[PropRcsiz](f, xdrtest.Load(f)) }
func FuzzPropBrs(f *testing.F)      { xdrtest.Fuzz[PropBrs](f, xdrtest.Load(f)) }
func FuzzPropHostauth(f *testing.F) { xdrtest.Fuzz[PropHostauth](f, xdrtest.Load(f)) }
func FuzzPropSubset(f *testing.F)   { xdrtest.Fuzz[PropSubset](f, xdrtest.Load(f)) }
