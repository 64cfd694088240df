package process

// CustomResourcesOnly are the arguments that make crd-server serve what upstream's server of custom resources serves:
// no namespaces, and no other built-in resources.
var CustomResourcesOnly = []string{"--builtin-resources=none"}
