package crds

// ListError means that the custom resources of a deleted CRD could not be listed. The condition Terminating
// distinguishes it from a failure to delete them.
type ListError struct{ Err error }

func (e *ListError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *ListError) Unwrap() error { return e.Err }
