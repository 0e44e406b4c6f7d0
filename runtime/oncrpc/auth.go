package oncrpc

import "fmt"

// None returns the AUTH_NONE credential or verifier: no body (RFC 5531 §10.1).
func None() OpaqueAuth { return OpaqueAuth{Flavor: AuthNone} }

// Auth returns v as an AUTH_SYS credential (RFC 5531 appendix A). It returns an error if the
// machine name or the list of groups is over its bound.
func (v *AuthSysParms) Auth() (OpaqueAuth, error) {
	body, err := v.MarshalBinary()
	if err != nil {
		return OpaqueAuth{}, err
	}
	return OpaqueAuth{Flavor: AuthSys, Body: body}, nil
}

// ParseAuthSys decodes an AUTH_SYS credential. The credential is not authenticated: any peer
// that can connect can claim any user.
func ParseAuthSys(a *OpaqueAuth) (*AuthSysParms, error) {
	if a.Flavor != AuthSys {
		return nil, fmt.Errorf("oncrpc: credential has flavour %v, expected %v (RFC 5531 appendix A)", a.Flavor, AuthSys)
	}
	p := new(AuthSysParms)
	if err := p.UnmarshalBinary(a.Body); err != nil {
		return nil, err
	}
	return p, nil
}
