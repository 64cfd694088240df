// Package bootstrap creates the objects that every server has: its system namespaces, the APIServices of its built-in
// resources, and so on. Begin with Create.
//
// It writes to etcd instead of sending requests to the server, and all objects together. So a start costs one read and
// one write, and no request passes admission, quotas or the audit log. The objects are the program's own and part of
// its behaviour, as the resources themselves are: no client has asked for them, and the policies and webhooks that
// could refuse them may need them to run. Whoever changes or deletes one of them later does so by a request.
package bootstrap
