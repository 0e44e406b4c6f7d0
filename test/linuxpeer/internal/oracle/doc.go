// Package oracle asks servers of NFS version 3 the same questions and compares the answers, so that
// one of them, a kernel's, decides about the other.
//
// A question is a call, or a few, by one user in its own directory, which [Ask] prepares in the
// same way on each server. The answer is the status, the results, and the directory's contents
// afterwards: types, modes, owners, links, sizes. Times, inode numbers and handles are
// left out, but the handles and attributes in several replies from one server must agree.
//
// Questions have names, such as "change/mode 1777/REMOVE by other". [Compare] wants a [Difference]
// with a reason for every question that two servers answer differently, and a question for every
// reason.
package oracle
