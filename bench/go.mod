module github.com/rpcrdma/rpcrdma/bench

go 1.26

require github.com/rpcrdma/rpcrdma v0.0.0

replace github.com/rpcrdma/rpcrdma => ../
