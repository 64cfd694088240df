// Package apiregistration serves APIServices as kube-aggregator does, although there is nothing to aggregate: one for
// each group and version that the server serves itself, always available. Tools such as kubectl api-versions and helm
// take them as the list of what is served. Clients can only read them; controllers/autoregister writes them.
package apiregistration
