package oncrpc

import (
	"errors"
	"fmt"
)

// ErrVerf: a reply has a verifier that its call's credential does not lead to.
var ErrVerf = errors.New("oncrpc: verifier refused")

// CheckVerf looks at the verifier of an accepted reply to a call that had cred: AUTH_NONE
// is right for every credential without a verifier protocol of its own; AUTH_SHORT is for AUTH_SYS, as an offer
// that may be ignored (RFC 5531 §10.1, appendix A). All others prove something only to who
// knows their protocol, so they are refused here with ErrVerf.
func CheckVerf(cred, verf *OpaqueAuth) error {
	switch {
	case verf.Flavor == AuthNone && (cred.Flavor == AuthNone || cred.Flavor == AuthSys || cred.Flavor == AuthShort):
		return nil
	case verf.Flavor == AuthShort && cred.Flavor == AuthSys:
		return nil
	}
	return fmt.Errorf("%w: the reply's has flavour %v (%d bytes) and the call's credential %v, expected %v (RFC 5531 §9): whoever uses another flavour has to check its verifiers",
		ErrVerf, verf.Flavor, len(verf.Body), cred.Flavor, AuthNone)
}
