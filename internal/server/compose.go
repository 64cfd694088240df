package server

import (
	"errors"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func compose(*Options, *clientv3.Client, authorizer.Authorizer) (*parts, error) {
	return nil, errors.New("not composed yet")
}
