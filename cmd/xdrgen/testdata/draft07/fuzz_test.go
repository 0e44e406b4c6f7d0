package rpcrdma2draft07

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

func FuzzHeaderPrefix(f *testing.F)  { xdrtest.Fuzz[HeaderPrefix](f, xdrtest.Load(f)) }
func FuzzCallExternal(f *testing.F)  { xdrtest.Fuzz[CallExternal](f, xdrtest.Load(f)) }
func FuzzCallMiddle(f *testing.F)    { xdrtest.Fuzz[CallMiddle](f, xdrtest.Load(f)) }
func FuzzCallInline(f *testing.F)    { xdrtest.Fuzz[CallInline](f, xdrtest.Load(f)) }
func FuzzReplyExternal(f *testing.F) { xdrtest.Fuzz[ReplyExternal](f, xdrtest.Load(f)) }
func FuzzReplyMiddle(f *testing.F)   { xdrtest.Fuzz[ReplyMiddle](f, xdrtest.Load(f)) }
func FuzzReplyInline(f *testing.F)   { xdrtest.Fuzz[ReplyInline](f, xdrtest.Load(f)) }
func FuzzError(f *testing.F)         { xdrtest.Fuzz[Error](f, xdrtest.Load(f)) }
func FuzzConnProp(f *testing.F)      { xdrtest.Fuzz[ConnProp](f, xdrtest.Load(f)) }
func FuzzPropSubset(f *testing.F)    { xdrtest.Fuzz[PropSubset](f, xdrtest.Load(f)) }

func FuzzPropMaxSendSize(f *testing.F)       { xdrtest.Fuzz[PropMaxSendSize](f, xdrtest.Load(f)) }
func FuzzPropReceiveBufferSize(f *testing.F) { xdrtest.Fuzz[PropReceiveBufferSize](f, xdrtest.Load(f)) }

func FuzzPropMaxSegmentSize(f *testing.F) { xdrtest.Fuzz[PropMaxSegmentSize](f, xdrtest.Load(f)) }

func FuzzPropMaxSegmentCount(f *testing.F) { xdrtest.Fuzz[PropMaxSegmentCount](f, xdrtest.Load(f)) }

func FuzzPropReverseSupport(f *testing.F) { xdrtest.Fuzz[PropReverseSupport](f, xdrtest.Load(f)) }
func FuzzPropHostAuth(f *testing.F)       { xdrtest.Fuzz[PropHostAuth](f, xdrtest.Load(f)) }
