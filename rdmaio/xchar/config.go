package xchar

import (
	"fmt"
	"slices"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Config configures one endpoint. A nil *Config has the default in every field.
type Config struct {
	// HeaderType is the number of the header type that carries the operations. Both endpoints need
	// the same. If zero, the default is 4294967040. Numbers up to 13 belong to version 2 and are
	// refused.
	HeaderType uint32

	// Server reports whether this endpoint accepted the connection, so that its peer is the client.
	// Extension sets it for each connection.
	Server bool

	// Local describes this endpoint at the start. If its ReceiveSize is zero, the default is 4096
	// bytes. The connection must have posted Receives of that size. A zero Backward is
	// BackwardUnknown.
	//
	// With Extension, a zero Local stands for the settings of rdmaio.Config, and a zero ReceiveSize
	// for rdmaio.Config.InlineRecv. The size must be within 4096 and that.
	Local Characteristics

	// Fixed lists the characteristics of this endpoint that never change. Nil means that all may
	// change.
	Fixed []wire.ID

	// Policy decides about the changes that the peer requests. If nil, all are rejected.
	Policy Policy
}

// lastBaseHeader is the last header type of version 2 in any of its revisions.
const lastBaseHeader = 13

// check returns an error that names the first field without a usable value.
func (cfg *Config) check() error {
	if cfg.HeaderType != 0 && cfg.HeaderType <= lastBaseHeader { // A12
		return fmt.Errorf("xchar: Config.HeaderType is %d, which belongs to version 2: use a number above %d, or 0 for %d",
			cfg.HeaderType, lastBaseHeader, uint32(xcharcarrier.HeaderType))
	}
	if err := Backward(cfg.Local.Backward).valid(); err != nil {
		return fmt.Errorf("%w, in Config.Local", err)
	}
	for i, id := range cfg.Fixed {
		if _, known := slotOf(id); !known {
			return fmt.Errorf("xchar: Config.Fixed[%d] is %d, expected the id of a characteristic, 1 to %d", i, id, slots)
		}
	}
	return nil
}

// Extension describes the extension to the transport: the header type under the configured number,
// the operations, and the characteristics.
func (cfg *Config) Extension() (xdr.Extension, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if err := cfg.check(); err != nil {
		return xdr.Extension{}, err
	}
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §6.2: the default header type is one of the numbers
	// for experiments (R257).
	ext, carrier := wire.Extension(), xcharcarrier.Extension()
	if cfg.HeaderType != 0 {
		carrier.Find(xdr.HeaderTypes, xcharcarrier.HeaderType).Value = cfg.HeaderType
	}
	ext.Codes = slices.Concat(carrier.Codes, ext.Codes)
	ext.Source = carrier.Source + " " + ext.Source
	return ext, nil
}
