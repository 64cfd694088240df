// Package audit configures the audit log: the events that a policy selects are written to a file and sent to a webhook.
//
// Policy, events and backends are those of k8s.io/apiserver, with kube-apiserver's flags. Without a policy there are
// no events and no costs. Begin with New.
package audit
