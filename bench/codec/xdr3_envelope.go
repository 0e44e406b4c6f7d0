package codec

import (
	"fmt"

	xdr "github.com/stellar/go-xdr/xdr3"
)

// Message f with stellar's runtime: a call for each field, and arms by pointer, as in its users'
// code. The functions encode and decode.

// both is an Encoder or a Decoder, and its first error.
type both struct {
	e   *xdr.Encoder
	d   *xdr.Decoder
	err error
}

func (c *both) note(_ int, err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *both) word(v *uint32) {
	if c.e != nil {
		c.note(c.e.EncodeUint(*v))
		return
	}
	w, n, err := c.d.DecodeUint()
	*v = w
	c.note(n, err)
}

func (c *both) hyper(v *int64) {
	if c.e != nil {
		c.note(c.e.EncodeHyper(*v))
		return
	}
	w, n, err := c.d.DecodeHyper()
	*v = w
	c.note(n, err)
}

func (c *both) fixed(v []byte) {
	if c.e != nil {
		c.note(c.e.EncodeFixedOpaque(v))
		return
	}
	c.note(c.d.DecodeFixedOpaqueInplace(v))
}

func (c *both) opaque(v *[]byte, most int) {
	if c.e != nil {
		c.note(c.e.EncodeOpaque(*v))
		return
	}
	w, n, err := c.d.DecodeOpaque(most)
	*v = w
	c.note(n, err)
}

func (c *both) text(v *string, most int) {
	if c.e != nil {
		c.note(c.e.EncodeString(*v))
		return
	}
	w, n, err := c.d.DecodeString(most)
	*v = w
	c.note(n, err)
}

// arm encodes or decodes the value that *p points to. For decoding, the value is new.
func arm[T any](c *both, p **T, code func(*both, *T)) {
	if c.d != nil {
		*p = new(T)
	}
	if c.err == nil {
		code(c, *p)
	}
}

func optional[T any](c *both, p **T, code func(*both, *T)) {
	if c.e != nil {
		if c.note(c.e.EncodeBool(*p != nil)); *p != nil {
			code(c, *p)
		}
		return
	}
	present, n, err := c.d.DecodeBool()
	*p = nil
	if c.note(n, err); present && c.err == nil {
		arm(c, p, code)
	}
}

func list[T any](c *both, s *[]T, most uint32, code func(*both, *T)) {
	n := uint32(len(*s))
	c.word(&n)
	if n > most {
		c.note(0, fmt.Errorf("%d elements, at most %d", n, most))
	}
	if c.d != nil && c.err == nil {
		*s = make([]T, n)
	}
	for i := range *s {
		if c.err == nil {
			code(c, &(*s)[i])
		}
	}
}

// refuse records an error: the discriminant has no arm.
func (c *both) refuse(kind uint32) { c.note(0, fmt.Errorf("no arm for %d", kind)) }

type evAccount struct {
	Kind        uint32
	Key, Digest *[32]byte
	Tagged      *struct {
		Tag int64
		Key [32]byte
	}
}

func (v *evAccount) code(c *both) {
	key := func(c *both, k *[32]byte) { c.fixed(k[:]) }
	switch c.word(&v.Kind); v.Kind {
	case 0:
		arm(c, &v.Key, key)
	case 1:
		arm(c, &v.Digest, key)
	case 256:
		if c.d != nil {
			v.Tagged = new(struct {
				Tag int64
				Key [32]byte
			})
		}
		c.hyper(&v.Tagged.Tag)
		c.fixed(v.Tagged.Key[:])
	default:
		c.refuse(v.Kind)
	}
}

type evAsset struct {
	Kind  uint32
	Small *evSmall
	Large *evLarge
}

type evSmall struct {
	Code   [4]byte
	Issuer evAccount
}

type evLarge struct {
	Code   [12]byte
	Issuer evAccount
}

func (v *evAsset) code(c *both) {
	switch c.word(&v.Kind); v.Kind {
	case 0:
	case 1:
		arm(c, &v.Small, func(c *both, a *evSmall) { c.fixed(a.Code[:]); a.Issuer.code(c) })
	case 2:
		arm(c, &v.Large, func(c *both, a *evLarge) { c.fixed(a.Code[:]); a.Issuer.code(c) })
	default:
		c.refuse(v.Kind)
	}
}

type evOperation struct {
	Source *evAccount
	Kind   uint32
	Create *struct {
		To     evAccount
		Amount int64
	}
	Payment *struct {
		To     evAccount
		Asset  evAsset
		Amount int64
	}
	Path *struct {
		Send, Receive evAsset
		Most, Amount  int64
		To            evAccount
		Path          []evAsset
	}
	Offer *struct {
		Selling, Buying evAsset
		Amount, ID      int64
		N, D            uint32
	}
	Options *struct {
		Inflation  *evAccount
		Clear, Set *uint32
		Home       *string
		Signer     *evSigner
	}
	Merge *evAccount
	Data  *struct {
		Name  string
		Value *[]byte
	}
	Bump *int64
}

type evSigner struct {
	Key    evAccount
	Weight uint32
}

func (v *evOperation) code(c *both) {
	optional(c, &v.Source, codeAccount)
	switch c.word(&v.Kind); v.Kind {
	case 0:
		fresh(c, &v.Create)
		v.Create.To.code(c)
		c.hyper(&v.Create.Amount)
	case 1:
		fresh(c, &v.Payment)
		v.Payment.To.code(c)
		v.Payment.Asset.code(c)
		c.hyper(&v.Payment.Amount)
	case 2:
		fresh(c, &v.Path)
		v.Path.Send.code(c)
		c.hyper(&v.Path.Most)
		v.Path.To.code(c)
		v.Path.Receive.code(c)
		c.hyper(&v.Path.Amount)
		list(c, &v.Path.Path, 5, func(c *both, a *evAsset) { a.code(c) })
	case 3:
		fresh(c, &v.Offer)
		v.Offer.Selling.code(c)
		v.Offer.Buying.code(c)
		c.hyper(&v.Offer.Amount)
		c.word(&v.Offer.N)
		c.word(&v.Offer.D)
		c.hyper(&v.Offer.ID)
	case 5:
		fresh(c, &v.Options)
		optional(c, &v.Options.Inflation, codeAccount)
		optional(c, &v.Options.Clear, (*both).word)
		optional(c, &v.Options.Set, (*both).word)
		optional(c, &v.Options.Home, func(c *both, s *string) { c.text(s, 28) })
		optional(c, &v.Options.Signer, func(c *both, s *evSigner) { s.Key.code(c); c.word(&s.Weight) })
	case 8:
		arm(c, &v.Merge, codeAccount)
	case 10:
		fresh(c, &v.Data)
		c.text(&v.Data.Name, 64)
		optional(c, &v.Data.Value, func(c *both, b *[]byte) { c.opaque(b, 64) })
	case 11:
		arm(c, &v.Bump, (*both).hyper)
	default:
		c.refuse(v.Kind)
	}
}

func codeAccount(c *both, v *evAccount) { v.code(c) }

// fresh allocates an arm for decoding.
func fresh[T any](c *both, p **T) {
	if c.d != nil {
		*p = new(T)
	}
}

type evSignature struct {
	Hint      [4]byte
	Signature []byte
}

type evSigned struct {
	Source   evAccount
	Fee      uint32
	Sequence int64
	Bounds   *struct {
		Earliest, Latest int64
		Ledger           *int64
	}
	MemoKind   uint32
	MemoText   *string
	MemoID     *int64
	MemoHash   *[32]byte
	Operations []evOperation
	Signatures []evSignature
}

func (v *evSigned) code(c *both) {
	v.Source.code(c)
	c.word(&v.Fee)
	c.hyper(&v.Sequence)
	present := uint32(0)
	if v.Bounds != nil {
		present = 1
	}
	if c.word(&present); present == 1 {
		fresh(c, &v.Bounds)
		c.hyper(&v.Bounds.Earliest)
		c.hyper(&v.Bounds.Latest)
		optional(c, &v.Bounds.Ledger, (*both).hyper)
	}
	switch c.word(&v.MemoKind); v.MemoKind {
	case 0:
	case 1:
		arm(c, &v.MemoText, func(c *both, s *string) { c.text(s, 28) })
	case 2:
		arm(c, &v.MemoID, (*both).hyper)
	case 3:
		arm(c, &v.MemoHash, func(c *both, h *[32]byte) { c.fixed(h[:]) })
	default:
		c.refuse(v.MemoKind)
	}
	list(c, &v.Operations, 100, func(c *both, o *evOperation) { o.code(c) })
	list(c, &v.Signatures, 20, codeSignature)
}

func codeSignature(c *both, s *evSignature) {
	c.fixed(s.Hint[:])
	c.opaque(&s.Signature, 64)
}

// evEnvelope is message f.
type evEnvelope struct {
	Kind  uint32
	Payer evAccount
	Fee   int64
	Inner *evSigned
	Outer []evSignature
}

func (v *evEnvelope) code(c *both) {
	switch c.word(&v.Kind); v.Kind {
	case 2:
		arm(c, &v.Inner, func(c *both, s *evSigned) { s.code(c) })
	case 5:
		v.Payer.code(c)
		c.hyper(&v.Fee)
		arm(c, &v.Inner, func(c *both, s *evSigned) { s.code(c) })
		list(c, &v.Outer, 20, codeSignature)
	default:
		c.refuse(v.Kind)
	}
}

func (v *evEnvelope) encodeTo(e *xdr.Encoder) error {
	c := both{e: e}
	v.code(&c)
	return c.err
}

func (v *evEnvelope) decodeFrom(d *xdr.Decoder) error {
	c := both{d: d}
	v.code(&c)
	return c.err
}
