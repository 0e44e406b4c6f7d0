// Package ladder joins the calls in two captures, taken at the client and at the server, and draws
// them: how long each call waited, was sent, was served, and was received.
//
// The captures have two clocks. No message arrives before it is sent, so each Call bounds the
// difference of the clocks from one side, and each reply from the other. The estimate lies halfway
// between the closest bounds.
package ladder
