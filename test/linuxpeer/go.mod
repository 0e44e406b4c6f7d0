module github.com/rpcrdma/rpcrdma/test/linuxpeer

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/rpcrdma/rpcrdma v0.0.0
	github.com/rpcrdma/rpcrdma/nfs v0.0.0
)

require github.com/ebitengine/purego v0.11.3 // indirect
