package history

// Choice is a measure with a title in plain words.
type Choice struct{ Measure, Title string }

// People are the ten measures of the picture for readers who do not know the benchmark's rows. In
// each, 1 means that both are equal.
var People = []Choice{
	{"rdmatcp call 128 B x 1: p50 x tcp", "One small call at a time: time, as a multiple of bare TCP's"},
	{"rdmatcp call 128 B x 32: of grpc call", "32 small calls at a time: speed, as a multiple of gRPC's"},
	{"rdmatcp call 128 B x 32: of framed call", "32 small calls: speed of a bare Go program's, over rdmatcp"},
	{"stubs/tcp call 128 B x 32: of framed call", "32 small calls: the same for generated stubs over TCP"},
	{"rdmatcp call 128 B x 32: p99/p50", "32 small calls: the slowest of 100, as a multiple of the median"},
	{"iwarp call 128 B x 32: of grpc call", "32 small calls over iWARP: speed, as a multiple of gRPC's"},
	{"rdmatcp/v2 call 128 B x 32: of grpc call", "32 small calls in version 2: speed, as a multiple of gRPC's"},
	{"rdmatcp write 64 KiB x 16: of grpc write", "Writes of 64 KiB: throughput, as a multiple of gRPC's"},
	{"rdmatcp write 1 MiB x 8: of segments write", "Writes of 1 MiB: throughput, of the same frames without RPC"},
	{"mem write 1 MiB x 1: p50 x copy", "A write of 1 MiB in memory: time, as a multiple of one copy"},
}

// all returns each measure of a history, with its own name as the title.
func all(lines []Line) (list []Choice) {
	titles, _ := measures(lines)
	for _, t := range titles {
		list = append(list, Choice{t, t})
	}
	return list
}
