package podspec

// The documentation of the columns with the containers of a template.
const (
	NamesDoc  = "Names of each container in the template."
	ImagesDoc = "Images referenced by each container in the template."
)
