// Package audit writes down who did what: the events that a policy asks for, into a log and to a webhook.
//
// Policy, events and backends are those of k8s.io/apiserver, under kube-apiserver's flags. Without a policy nothing is
// written, and nothing is done for it. Begin with New.
package audit
