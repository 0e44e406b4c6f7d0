// Package history checks what happened to Calls: how often a server executed each of them, when,
// and with which outcome it returned to its caller. Callers and servers of a test write a Log, over
// any carrier or in a simulation, and Check compares it with the promises of the stack:
//
//	Called ──> Executed, any number of times ──> Returned, with an Outcome
//
// These are the rules:
//
//   - the result of a Call comes from an execution between its beginning and its return;
//   - a Call whose error says that it was not executed was not, neither before nor later;
//   - with a reply cache, no Call is executed twice, whatever its outcome (RFC 5531 §8);
//   - every Call returns, and nothing is executed that was not called;
//   - messages for which an order is promised arrive in that order, each once.
//
// There is no search: each rule looks at one Call, or at one stream of messages, so that a million
// Calls take a second. A broken rule is reported with the history of its Call: the entries that
// callers, servers and the network have made about it, in their order.
package history
