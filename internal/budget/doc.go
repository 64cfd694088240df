// Package budget bounds what requests cost.
//
// Each request may take so much memory as Of says for its size. The parts of the server that decode, merge and encode
// keep to that. If a request needs more, or more of anything else, they refuse it with a Status 413 or an
// ExceededError. The responder calls Report with it: one log line, and one metric.
//
// All requests together are bounded by a Governor. A request with a large body calls ReserveBody before it reads the
// body. A request whose body, stored object or response is large calls Reserve before it is worked on. Both take what
// the request may cost from the memory of the Governor, and wait until enough is free. Small requests reserve nothing:
// the in-flight limits bound them (internal/server/filters).
//
// Begin at governor.go.
package budget
