// Package pairs tests that the limits of clients and servers fit together, for every carrier. A
// client with defaults and a server with defaults must never break each other. Nor must they if one
// field of one Config is at an extreme: no call and no connection is lost, and no call is executed
// twice.
//
// Values has the extremes of each limit and each time of every Config, of the structs in them, and
// of the providers' Configs. Run looks up the fields of the structs that it gets by reflection, so
// a new field without values fails the test. All of a struct's values together with each other are
// too many to try: each row changes one field, and the peer has defaults.
//
//	the client's fields ──┐
//	                      ├──> rows ──> Carrier.Open ──> calls at once, and callbacks
//	the server's fields ──┘
package pairs
