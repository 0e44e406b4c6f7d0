package codec

import (
	xdr "github.com/stellar/go-xdr/xdr3"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
)

func (v *listDir) encodeTo(e *xdr.Encoder) error {
	if _, err := e.EncodeUint(v.Status); err != nil {
		return err
	}
	if err := encodeAttr(e, v.DirAttr); err != nil {
		return err
	}
	if _, err := e.EncodeFixedOpaque(v.Verifier[:]); err != nil {
		return err
	}
	if err := v.Entries.encodeTo(e); err != nil {
		return err
	}
	_, err := e.EncodeBool(v.EOF)
	return err
}

func (v *listEntry) encodeTo(e *xdr.Encoder) error {
	if _, err := e.EncodeBool(v != nil); err != nil || v == nil {
		return err
	}
	if _, err := e.EncodeUhyper(v.ID); err != nil {
		return err
	}
	if _, err := e.EncodeString(v.Name); err != nil {
		return err
	}
	if _, err := e.EncodeUhyper(v.Cookie); err != nil {
		return err
	}
	if err := encodeAttr(e, v.Attr); err != nil {
		return err
	}
	if _, err := e.EncodeBool(v.Handle != nil); err != nil {
		return err
	}
	if v.Handle != nil {
		if _, err := e.EncodeOpaque(v.Handle.Bytes); err != nil {
			return err
		}
	}
	return v.Next.encodeTo(e)
}

func encodeAttr(e *xdr.Encoder, a *hand.Attr) error {
	if _, err := e.EncodeBool(a != nil); err != nil || a == nil {
		return err
	}
	if err := words(e, uint32(a.Type), a.Mode, a.Links, a.Owner, a.Group); err != nil {
		return err
	}
	for _, v := range [...]uint64{a.FileSize, a.Used} {
		if _, err := e.EncodeUhyper(v); err != nil {
			return err
		}
	}
	if err := words(e, a.Device.Major, a.Device.Minor); err != nil {
		return err
	}
	for _, v := range [...]uint64{a.Volume, a.ID} {
		if _, err := e.EncodeUhyper(v); err != nil {
			return err
		}
	}
	return words(e, a.Accessed.Seconds, a.Accessed.Nanoseconds, a.Modified.Seconds, a.Modified.Nanoseconds,
		a.Changed.Seconds, a.Changed.Nanoseconds)
}

func (v *listDir) decodeFrom(d *xdr.Decoder) error {
	if err := readWords(d, &v.Status); err != nil {
		return err
	}
	if err := decodeOptional(d, &v.DirAttr, decodeAttr); err != nil {
		return err
	}
	if _, err := d.DecodeFixedOpaqueInplace(v.Verifier[:]); err != nil {
		return err
	}
	if err := decodeOptional(d, &v.Entries, (*listEntry).decodeFrom); err != nil {
		return err
	}
	var err error
	v.EOF, _, err = d.DecodeBool()
	return err
}

func (v *listEntry) decodeFrom(d *xdr.Decoder) error {
	var err error
	if v.ID, _, err = d.DecodeUhyper(); err != nil {
		return err
	}
	if v.Name, _, err = d.DecodeString(hand.NameMax); err != nil {
		return err
	}
	if v.Cookie, _, err = d.DecodeUhyper(); err != nil {
		return err
	}
	if err := decodeOptional(d, &v.Attr, decodeAttr); err != nil {
		return err
	}
	if err := decodeOptional(d, &v.Handle, func(h *listHandle, d *xdr.Decoder) error {
		h.Bytes, _, err = d.DecodeOpaque(hand.HandleMax)
		return err
	}); err != nil {
		return err
	}
	return decodeOptional(d, &v.Next, (*listEntry).decodeFrom)
}

func decodeAttr(a *hand.Attr, d *xdr.Decoder) error {
	kind, _, err := d.DecodeUint()
	if err != nil {
		return err
	}
	a.Type = hand.FileType(kind)
	if err := readWords(d, &a.Mode, &a.Links, &a.Owner, &a.Group); err != nil {
		return err
	}
	if err := readHypers(d, &a.FileSize, &a.Used); err != nil {
		return err
	}
	if err := readWords(d, &a.Device.Major, &a.Device.Minor); err != nil {
		return err
	}
	if err := readHypers(d, &a.Volume, &a.ID); err != nil {
		return err
	}
	return readWords(d, &a.Accessed.Seconds, &a.Accessed.Nanoseconds, &a.Modified.Seconds, &a.Modified.Nanoseconds,
		&a.Changed.Seconds, &a.Changed.Nanoseconds)
}

func readHypers(d *xdr.Decoder, v ...*uint64) error {
	for _, h := range v {
		var err error
		if *h, _, err = d.DecodeUhyper(); err != nil {
			return err
		}
	}
	return nil
}
