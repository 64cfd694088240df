package crds

// ListError is what deleting the objects of a CRD fails with when they could not be listed. The CRD's condition
// Terminating words it differently from a failure to delete.
type ListError struct{ Err error }

func (e *ListError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *ListError) Unwrap() error { return e.Err }
