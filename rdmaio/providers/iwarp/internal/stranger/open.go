package stranger

import (
	"errors"
	"fmt"
	"net"
)

// RejectedError is the error of Initiate for a Reply with the bit R.
type RejectedError struct{ Reply Startup }

// Error returns a text with the length of the private data.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("stranger: rejected, with %d bytes of private data", len(e.Reply.Private))
}

// ErrNoRTR is the error of Initiate if the Reply allows no RTR indication that the Request offered.
var ErrNoRTR = errors.New("stranger: no matching RTR option")

// Initiate starts MPA as the Initiator (RFC 5044 §7.1.2 rule 3). It sends the RTR indication, if
// one is due (RFC 6581 §9.2): the first of Write, Read and Send that both frames have.
func Initiate(conn net.Conn, cfg Config) (*Endpoint, error) {
	cfg.Startup.Reply = false
	if _, err := conn.Write(cfg.Startup.Bytes()); err != nil {
		return nil, err
	}
	reply, err := ReadStartup(conn, true)
	switch {
	case err != nil:
		conn.Close()
		return nil, err
	case reply.Reject:
		return nil, &RejectedError{reply}
	case reply.Enhanced != cfg.Enhanced:
		conn.Close()
		return nil, fmt.Errorf("%w: the Reply's bit S is %t, the Request's is %t (RFC 6581 §10)", ErrStartup, reply.Enhanced, cfg.Enhanced)
	case reply.Enhanced && reply.PeerToPeer != cfg.PeerToPeer:
		conn.Close()
		return nil, fmt.Errorf("%w: the Reply's flag A is %t, the Request's is %t (RFC 6581 §9.2)", ErrStartup, reply.PeerToPeer, cfg.PeerToPeer)
	}
	p := Attach(conn, cfg, true, reply)
	if reply.Enhanced && cfg.PeerToPeer {
		return p, p.rtr()
	}
	return p, nil
}

// rtr sends an RTR indication.
func (p *Endpoint) rtr() error {
	switch {
	case p.cfg.WriteRTR && p.Peer.WriteRTR:
		s := header(Write, true)
		s.STag = 1 // not checked, but some peers refuse zero
		p.Put(s)
	case p.cfg.ReadRTR && p.Peer.ReadRTR:
		p.read(Read{SinkSTag: 1, SourceSTag: 1}, true)
	case p.cfg.SendRTR && p.Peer.SendRTR:
		p.Send(Send, nil, 0)
	default:
		p.Terminate(Terminate{Code: MPANoRTR})
		return ErrNoRTR
	}
	return nil
}

// Respond starts MPA as the Responder (RFC 5044 §7.1.2 rule 2). After a Reply with the bit R it
// returns a RejectedError.
func Respond(conn net.Conn, cfg Config) (*Endpoint, error) {
	request, err := ReadStartup(conn, false)
	if err != nil {
		conn.Close()
		return nil, err
	}
	reply := cfg.Startup
	if cfg.Reply != nil {
		reply = cfg.Reply(request)
	} else {
		reply = Answer(request, reply)
	}
	reply.Reply = true
	cfg.Startup = reply
	if reply.Reject {
		_, err := conn.Write(reply.Bytes())
		return nil, errors.Join(&RejectedError{reply}, err)
	}
	// The receiver is ready before the Initiator can send.
	if _, err := conn.Write(reply.Bytes()); err != nil {
		return nil, err
	}
	return Attach(conn, cfg, false, request), nil
}

// Answer returns the Reply of an end with these wishes to a Request: its depths and RTR options
// fit those of the Request (RFC 6581 §9.1, §9.2).
func Answer(request, ours Startup) Startup {
	r := Startup{
		Reply: true, CRC: ours.CRC || request.CRC, Reject: ours.Reject, Enhanced: request.Enhanced,
		Revision: request.Revision, Private: ours.Private,
	}
	if !request.Enhanced {
		return r
	}
	r.IRD, r.ORD = ours.IRD, min(ours.ORD, request.IRD)
	if request.ORD == Automatic {
		r.IRD = Automatic
	} else if request.ORD < r.IRD {
		r.IRD = request.ORD
	}
	if request.IRD == Automatic {
		r.ORD = Automatic
	}
	if !request.PeerToPeer {
		return r
	}
	r.PeerToPeer = true
	r.SendRTR, r.WriteRTR, r.ReadRTR = request.SendRTR && ours.SendRTR, request.WriteRTR && ours.WriteRTR, request.ReadRTR && ours.ReadRTR
	if !r.SendRTR && !r.WriteRTR && !r.ReadRTR {
		r.SendRTR, r.WriteRTR, r.ReadRTR = ours.SendRTR, ours.WriteRTR, ours.ReadRTR
	}
	if r.ReadRTR && r.IRD == 0 {
		r.IRD = 1
	}
	return r
}
