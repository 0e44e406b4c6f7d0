package main

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
)

// headerType returns the name of a version 2 header type (§6.2), or its number.
func headerType(n uint32) string {
	switch n {
	case rpcrdma2.HeaderMsg:
		return "RDMA2_MSG"
	case rpcrdma2.HeaderNomsg:
		return "RDMA2_NOMSG"
	case rpcrdma2.HeaderError:
		return "RDMA2_ERROR"
	case rpcrdma2.HeaderConnProp:
		return "RDMA2_CONNPROP"
	}
	return fmt.Sprintf("header type %d", n)
}

// flags returns the names of flags, each after a space, and the number of those that the draft does
// not define (§6.3.2).
func flags(n uint32) (s string) {
	if n&rpcrdma2.FlagResponse != 0 {
		s += " RESPONSE"
	}
	if n&rpcrdma2.FlagMore != 0 {
		s += " MORE"
	}
	if n &^= rpcrdma2.FlagResponse | rpcrdma2.FlagMore; n != 0 {
		s += fmt.Sprintf(" flags 0x%08x", n)
	}
	return s
}

// error2 returns an error of version 2 (§6.4.3). One that is not known has no fields.
func error2(e *rpcrdma2.Error) string {
	switch e.Err {
	case rpcrdma2.ErrVers:
		return "ERR_VERS, " + versionsText(e.Versions.Low, e.Versions.High)
	case rpcrdma2.ErrBadXDR:
		return "BAD_XDR"
	case rpcrdma2.ErrInvalHtype:
		return "INVAL_HTYPE"
	case rpcrdma2.ErrInvalFlag:
		return "INVAL_FLAG"
	case rpcrdma2.ErrReadChunks:
		return fmt.Sprintf("READ_CHUNKS max %d", e.MaxReadChunks)
	case rpcrdma2.ErrWriteChunks:
		return fmt.Sprintf("WRITE_CHUNKS max %d", e.MaxWriteChunks)
	case rpcrdma2.ErrSegments:
		return fmt.Sprintf("SEGMENTS max %d", e.MaxSegments)
	case rpcrdma2.ErrWriteResource:
		return fmt.Sprintf("WRITE_RESOURCE chunk %d needs %d bytes", e.WriteResource.ChunkIndex, e.WriteResource.LengthNeeded)
	case rpcrdma2.ErrReplyResource:
		return fmt.Sprintf("REPLY_RESOURCE needs %d bytes", e.ReplyLengthNeeded)
	case rpcrdma2.ErrSystem:
		return "SYSTEM"
	}
	return fmt.Sprintf("error %d", e.Err)
}

// propertyNames are the names of the properties that are numbers (§5.2).
var propertyNames = map[uint32]string{
	rpcrdma2.PropIDMaxSendSize:       "max send size",
	rpcrdma2.PropIDReceiveBufferSize: "receive buffer size",
	rpcrdma2.PropIDMaxSegmentSize:    "max segment size",
	rpcrdma2.PropIDMaxSegmentCount:   "max segment count",
	rpcrdma2.PropIDReverseSupport:    "reverse calls",
}

// reverseLevels are the values of the property "reverse calls" (§5.2.5).
var reverseLevels = map[uint32]string{
	rpcrdma2.ReverseNone:    "none",
	rpcrdma2.ReverseInline:  "inline",
	rpcrdma2.ReverseGeneral: "general",
}

// property returns a property and its value. Data of zero length are the default (§5.1).
func property(id uint32, data []byte) string {
	name, known := propertyNames[id]
	switch {
	case id == rpcrdma2.PropIDHostAuth && len(data) >= 4:
		return fmt.Sprintf("host authentication of %d bytes", binary.BigEndian.Uint32(data))
	case id == rpcrdma2.PropIDHostAuth:
		return fmt.Sprintf("host authentication: not decoded, found %d bytes, expected 4 at least", len(data))
	case !known:
		return fmt.Sprintf("property %d of %d bytes", id, len(data))
	case len(data) == 0:
		return name + " default"
	case len(data) != 4:
		return fmt.Sprintf("%s: not decoded, found %d bytes, expected 4", name, len(data))
	}
	n := binary.BigEndian.Uint32(data)
	if level, ok := reverseLevels[n]; ok && id == rpcrdma2.PropIDReverseSupport {
		return name + " " + level
	}
	return fmt.Sprintf("%s %d", name, n)
}
