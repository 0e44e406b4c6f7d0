package v2

import (
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Append appends the header of m to b, without m.Payload. If the capacity of b is too small, it
// returns b and an error that is xdr.ErrBuffer. It writes m.Vers as it is, since an ERROR copies
// the version of the message that it answers (§6.4.3; R194).
//
// ErrVers is always written in the form of version 1, without flags, as its receiver may support
// that version only (A1). For a KindOther message, Append writes the prefix; the body is in
// m.Payload.
func (v *Version) Append(b []byte, m *header.Message) ([]byte, error) {
	v.enc.NoGrow(true)
	v.enc.Reset(b)
	if err := v.append(m); err != nil {
		return b, err
	}
	return v.enc.Bytes(), nil
}

func (v *Version) append(m *header.Message) error {
	p := rpcrdma2.HeaderPrefix{Start: rpcrdma2.Common{XID: m.XID, Vers: m.Vers, Credit: m.Credit}}
	if m.Answer {
		p.Flags = rpcrdma2.FlagResponse // R144
	}
	if m.More && (m.Kind == header.KindMsg || m.Kind == header.KindProps) {
		p.Flags |= rpcrdma2.FlagMore // R153, R157
	}
	switch m.Kind {
	case header.KindNomsg:
		p.Start.Htype = rpcrdma2.HeaderNomsg
	case header.KindGrant:
		p.Start.Htype = rpcrdma2.HeaderNomsg
		p.Start.XID = 0 // R174
	case header.KindError:
		p.Start.Htype, p.Flags = rpcrdma2.HeaderError, rpcrdma2.FlagResponse // R147
	case header.KindProps:
		p.Start.Htype = rpcrdma2.HeaderConnProp
	case header.KindOther:
		p.Start.Htype = m.Type
		extra, _ := v.flags(m.Type)
		p.Flags |= m.Flags & extra &^ baseFlags // R142
	default:
		p.Start.Htype = rpcrdma2.HeaderMsg
	}

	if m.Kind == header.KindError && m.Err.Code == header.ErrVers {
		if err := p.Start.EncodeXDR(&v.enc); err != nil {
			return err
		}
		return v.appendError(&m.Err)
	}
	if err := p.EncodeXDR(&v.enc); err != nil {
		return err
	}
	switch m.Kind {
	case header.KindError:
		return v.appendError(&m.Err)
	case header.KindProps:
		v.props.Props = v.props.Props[:0]
		for _, p := range m.Props {
			v.props.Props = append(v.props.Props, rpcrdma2.PropVal{Which: rpcrdma2.PropID(p.ID), Data: p.Data})
		}
		return v.props.EncodeXDR(&v.enc)
	case header.KindOther:
		return nil
	case header.KindGrant:
		v.lists.ResetXDR()
	default:
		toWire(&v.lists, &m.Lists)
		v.lists.InvHandle = m.InvalidateKey // R259
	}
	return v.lists.EncodeXDR(&v.enc)
}

// appendError appends the body of an ERROR.
func (v *Version) appendError(e *header.Error) error {
	body := toError(e)
	return body.EncodeXDR(&v.enc)
}
