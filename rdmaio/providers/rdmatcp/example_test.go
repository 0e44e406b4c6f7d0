package rdmatcp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Devices with Config.TLS encrypt their connections. Package rdmaio uses such a device as any
// other; a server's device also needs a certificate. Without one it cannot listen.
func ExampleConfig_tls() {
	// An empty configuration trusts the authorities of the system.
	dev, err := rdmatcp.Open(&rdmatcp.Config{TLS: &tls.Config{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	_, err = dev.Listen(context.Background(), "127.0.0.1:0")
	fmt.Println(errors.Is(err, verbs.ErrInvalidValue))
	fmt.Println(err)
	// Output:
	// true
	// rdmatcp: listen at "127.0.0.1:0": Config.TLS has no certificate, which a server must have: set its Certificates: verbs: invalid argument
}
