package oncrpc

import (
	"errors"
	"testing"
)

// A verifier of AUTH_NONE is valid for credentials without a verifier protocol of their own, and
// AUTH_SHORT only for AUTH_SYS. All others are refused (RFC 5531 §9, §10.1).
func TestCheckVerf(t *testing.T) {
	flavors := []Flavor{AuthNone, AuthSys, AuthShort, AuthDH, RPCSecGSS, 390003}
	good := map[[2]Flavor]bool{
		{AuthNone, AuthNone}: true, {AuthSys, AuthNone}: true, {AuthShort, AuthNone}: true, {AuthSys, AuthShort}: true,
	}
	for _, cred := range flavors {
		for _, verf := range flavors {
			err := CheckVerf(&OpaqueAuth{Flavor: cred}, &OpaqueAuth{Flavor: verf})
			if want := good[[2]Flavor{cred, verf}]; (err == nil) != want || err != nil && !errors.Is(err, ErrVerf) {
				t.Errorf("credential %v, verifier %v: %v", cred, verf, err)
			}
		}
	}
}
