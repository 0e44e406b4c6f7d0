package quirks

import "github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"

// Driver is what is known of the devices of one driver.
type Driver struct {
	Name      string // of the kernel's driver for InfiniBand: "mlx5_core" has "mlx5"
	Transport abi.Transport
	Source    string // how the facts are known
	Quirks    Quirks
}
