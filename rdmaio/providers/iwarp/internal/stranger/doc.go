// Package stranger is an iWARP endpoint for tests, in either role. It is written from RFC 5044,
// 5041, 5040 and 6581 alone, without code of the provider, so that tests can check the provider
// with it: two readers of the same documents. Section numbers are those of the documents.
//
// A [Startup] is an MPA Request or Reply Frame, a [Segment] is a DDP segment with the fields of
// RDMAP, and [Frame] puts a ULPDU into an FPDU. Each can break every rule. An [Endpoint] is one end
// of a connection. It keeps a book of sequence numbers, posted buffers, regions and outstanding
// Reads. It answers errors of the other end by the Terminate that the documents name, and collects
// complaints about what a sender must not do and a receiver ignores.
//
//	p, err := stranger.Initiate(conn, stranger.Config{Startup: stranger.Startup{CRC: true}})
//	p.Post(1024)
//	p.Send(stranger.Send, []byte("hello"), 0)
//	e := p.Next() // a message, a Read's end, a Terminate or the end of the stream
//
// A test that sends what no endpoint may send takes the segment that is due, and changes it:
//
//	s := p.DueSend(stranger.Send, payload)
//	s.MSN += 2
//	p.Put(s)
//	e := p.Next() // a Terminate with DDPInvalidMSN
package stranger
