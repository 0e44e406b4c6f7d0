package rdmaio

import (
	"fmt"
	"math/bits"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// extension is one of Config.Extensions.
type extension struct {
	use   Extension
	Name  string // of the descriptor
	codes xdr.Extension
	index int // in extensionSet.list
}

// code is a number of an extension.
type code struct {
	*xdr.CodePoint
	of *extension
}

// number is a number of a code space.
type number struct {
	space xdr.CodeSpace
	value uint32
}

// extensionSet is Config.Extensions, checked. It does not change.
type extensionSet struct {
	list  []*extension
	codes map[number]code
}

// baseFlags are the flags that every header type may have.
const baseFlags = 1 | 2

// maxProperties is the size in bytes of the largest first set of properties.
const maxProperties = header.LeastInline

// newExtensionSet checks extensions: each number has one owner, and the base protocol owns its own
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §B.1, §B.2, §B.3 and §B.4; R322). version2 reports
// whether this side has version 2.
func newExtensionSet(list []Extension, version2 bool) (*extensionSet, error) {
	s := &extensionSet{codes: make(map[number]code)}
	if len(list) == 0 {
		return s, nil
	}
	if !version2 {
		return nil, refuse("Config.Extensions are given, which version 1 does not have: add 2 to Config.Versions")
	}
	base := v2.Base()
	owners := make(map[number]string)
	for _, c := range base.Codes {
		owners[number{c.Space, c.Value}] = c.Name + " of version 2"
	}
	for i, use := range list {
		if use == nil {
			return nil, refuse("Config.Extensions[%d] is nil", i)
		}
		x := &extension{use: use, codes: use.Descriptor(), index: i}
		if x.Name = x.codes.Name; x.Name == "" {
			return nil, refuse("Config.Extensions[%d] has a descriptor without a name: use the descriptor of the generated package", i)
		}
		for _, o := range s.list {
			if o.Name == x.Name {
				return nil, refuse("Config.Extensions[%d] and [%d] have the name %q: each extension must be there once", o.index, i, x.Name)
			}
		}
		for n := range x.codes.Codes {
			c := &x.codes.Codes[n]
			if c.Space == xdr.Operations || c.Space == xdr.Characteristics {
				continue // numbers inside messages of the extension
			}
			key, owner := number{c.Space, c.Value}, fmt.Sprintf("%s of extension %q", c.Name, x.Name)
			if other := owners[key]; other != "" {
				return nil, refuse("Config.Extensions: %s %d is %s and %s: give one of them another number, or use one of them", c.Space, c.Value, other, owner)
			}
			if err := x.check(c); err != nil {
				return nil, err
			}
			owners[key], s.codes[key] = owner, code{c, x}
		}
		s.list = append(s.list, x)
	}
	_, err := s.announce()
	return s, err
}

// refuse returns an error about Config.Extensions.
func refuse(format string, args ...any) error {
	return fmt.Errorf("rdmaio: "+format+": %w", append(args, verbs.ErrInvalidValue)...)
}

// check checks one number.
func (x *extension) check(c *xdr.CodePoint) error {
	switch {
	case c.Space == xdr.HeaderFlags && bits.OnesCount32(c.Value) != 1:
		return refuse("Config.Extensions: flag %s of extension %q is %#x, must be one bit", c.Name, x.Name, c.Value)
	case c.Space == xdr.HeaderTypes && c.Flags&2 != 0: // R157
		return refuse("Config.Extensions: header type %s of extension %q has the flag RPCRDMA2_F_MORE, "+
			"but only RDMA2_MSG and RDMA2_CONNPROP can be continued (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.2): remove the flag", c.Name, x.Name)
	case c.Space == xdr.ErrorCodes && c.Type != "" && !x.reports(c.Type): // B.4; R323
		return refuse("Config.Extensions: error code %s of extension %q has data of type %s, but no header type carries %s: "+
			"give the error its own header type, which all sides with the extension then accept "+
			"(draft-ietf-nfsv4-rpcrdma-version-two-00 appendix B.4), or make it void", c.Name, x.Name, c.Type, c.Type)
	}
	return nil
}

// reports reports whether a header type has a body of this type.
func (x *extension) reports(typ string) bool {
	for _, c := range x.codes.Codes {
		if c.Space == xdr.HeaderTypes && c.Type == typ {
			return true
		}
	}
	return false
}

// find returns the owner of a number, or a code without one.
func (s *extensionSet) find(space xdr.CodeSpace, value uint32) code {
	return s.codes[number{space, value}]
}

// flags returns the flags of a header type, for v2.Config.Types.
func (s *extensionSet) flags(htype uint32) (uint32, bool) {
	c := s.find(xdr.HeaderTypes, htype)
	if c.of == nil {
		return 0, false
	}
	return c.Flags &^ baseFlags, true
}

// body decodes the body of a message, for v2.Config.Body. What it returns does not refer to b,
// except for the rest.
func (s *extensionSet) body(htype uint32, b []byte) (any, []byte, error) {
	c := s.find(xdr.HeaderTypes, htype)
	if c.New == nil {
		return nil, b, nil
	}
	v, d := c.New(), xdr.NewDecoder(b, nil)
	if err := v.DecodeXDR(d); err != nil {
		return nil, nil, err
	}
	return v, d.Rest(), nil
}

// knows judges a property of the peer, for v2.Config.KnownProperty.
func (s *extensionSet) knows(id uint32, data []byte) (known bool, err error) {
	c := s.find(xdr.Properties, id)
	if c.of == nil {
		return false, nil
	}
	_, err = c.value(data)
	return true, err
}

// value decodes a value that must fill data. Data of zero length have no value: in a property they
// mean the default (§5.1; R221).
func (c *code) value(data []byte) (xdr.Value, error) {
	switch {
	case len(data) == 0:
		return nil, nil
	case c.New == nil:
		return nil, fmt.Errorf("%s has no value, found %d bytes", c.Name, len(data))
	}
	v, d := c.New(), xdr.NewDecoder(data, nil)
	if err := v.DecodeXDR(d); err != nil {
		return nil, err
	}
	return v, d.Done()
}

// announce returns the properties of this side for a new connection.
func (s *extensionSet) announce() (set []header.Property, err error) {
	size := 84 // of the message with version 2's properties
	for _, x := range s.list {
		for _, p := range x.use.Properties() {
			c := s.find(xdr.Properties, p.ID)
			if c.of != x {
				return nil, refuse("Extension.Properties of %q returns property %d, which is not in its descriptor", x.Name, p.ID)
			}
			for _, o := range set {
				if o.ID == p.ID {
					return nil, refuse("Extension.Properties of %q returns %s twice, must be once (R228)", x.Name, c.Name)
				}
			}
			data, err := c.encode(p.Value)
			if err != nil {
				return nil, fmt.Errorf("rdmaio: property %s of extension %q: %w", c.Name, x.Name, err)
			}
			if size += 8 + xdr.Padded(len(data)); size > maxProperties { // R42, R225
				return nil, &SizeError{
					What: "message with the properties of all extensions", Need: size, Limit: maxProperties,
					Hint: fmt.Sprintf("a peer may not have larger Receives; property %s of extension %q does not fit", c.Name, x.Name),
				}
			}
			set = append(set, header.Property{ID: p.ID, Data: data})
		}
	}
	return set, nil
}

// encode encodes a value, which must have the type of the number.
func (c *code) encode(v xdr.Value) ([]byte, error) {
	var want xdr.Value
	if c.New != nil {
		want = c.New()
	}
	if got, want := fmt.Sprintf("%T", v), fmt.Sprintf("%T", want); got != want {
		return nil, fmt.Errorf("value is %s, must be %s as in the descriptor: %w", got, want, verbs.ErrInvalidValue)
	}
	if v == nil {
		return nil, nil
	}
	enc := xdr.NewEncoder(nil)
	if err := v.EncodeXDR(enc); err != nil {
		return nil, err
	}
	return enc.Bytes(), nil
}

// receiveSize returns the size of Receives at the beginning of a connection, where largest is the
// size of their memory.
func (s *extensionSet) receiveSize(largest int) (int, error) {
	size, by := largest, ""
	for _, x := range s.list {
		r, ok := x.use.(ReceiveSizer)
		if !ok {
			continue
		}
		if by != "" {
			return 0, refuse("extensions %q and %q both decide the size of Receives: use one of them", by, x.Name)
		}
		by = x.Name
		n := r.InitialReceiveSize()
		if n == 0 {
			continue
		}
		if n < v2.LeastInline || n > largest {
			return 0, refuse("extension %q wants Receives of %d bytes, must be within %d and Config.InlineRecv, %d", x.Name, n, v2.LeastInline, largest)
		}
		size = n
	}
	return size, nil
}
