package oncrpc

import (
	"errors"
	"fmt"
)

// ErrVerf is the error of a reply whose verifier does not match the credential of its call.
var ErrVerf = errors.New("oncrpc: verifier refused")

// CheckVerf checks the verifier of an accepted reply to a call with credential cred. AUTH_NONE is
// valid for credentials without their own verifier protocol. AUTH_SHORT is valid for
// AUTH_SYS: it offers a shorthand, which the client may ignore (RFC 5531 §10.1, appendix A).
// Other verifiers need their own protocol to be checked, so CheckVerf refuses them with ErrVerf.
func CheckVerf(cred, verf *OpaqueAuth) error {
	switch {
	case verf.Flavor == AuthNone && (cred.Flavor == AuthNone || cred.Flavor == AuthSys || cred.Flavor == AuthShort):
		return nil
	case verf.Flavor == AuthShort && cred.Flavor == AuthSys:
		return nil
	}
	return fmt.Errorf("%w: the reply's has flavour %v (%d bytes) and the call's credential %v, expected %v (RFC 5531 §9); a client of another flavour must check its verifiers itself",
		ErrVerf, verf.Flavor, len(verf.Body), cred.Flavor, AuthNone)
}
