module github.com/rpcrdma/rpcrdma/nfs

go 1.26.0

require github.com/rpcrdma/rpcrdma v0.0.0

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
)
