package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// selected is the number of objects for each value of the label "shard", at every scale.
const selected = 100

// fillBatch is the number of objects in a transaction.
const fillBatch = 100

// fill writes objects to the server's etcd directly, because creating a hundred thousand through a server takes
// longer than all measurements. They are copies of an object that the server has stored.
func (s *Server) fill(ctx context.Context, objects int) error {
	const template = "widget-template"
	_, err := s.Client().Do(ctx, http.StatusCreated, http.MethodPost, widgets, asJSON, widget("Widget", template, 0, 1))
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.etcd.url}, Context: ctx})
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	defer client.Close()
	folder := "/registry/" + widgetGroup + "/widgets/bench/"
	stored, err := client.Get(ctx, folder+template)
	if err != nil {
		return fmt.Errorf("read an object from etcd: %w", err)
	}
	if len(stored.Kvs) != 1 {
		return fmt.Errorf("etcd has no %s", folder+template)
	}
	value := stored.Kvs[0].Value
	uid, err := uidOf(value)
	if err != nil {
		return err
	}
	if _, err := s.Client().Do(ctx, http.StatusOK, http.MethodDelete, widgets+"/"+template, "", nil); err != nil {
		return err
	}
	shards := max(objects/selected, 1)
	for first := 0; first < objects; first += fillBatch {
		var puts []clientv3.Op
		for i := first; i < min(first+fillBatch, objects); i++ {
			object := bytes.ReplaceAll(value, []byte(template), []byte(widgetName(i)))
			object = bytes.ReplaceAll(object, uid, fmt.Appendf(nil, "00000000-0000-4000-8000-%012d", i))
			object = bytes.ReplaceAll(object, []byte(`"shard":"s0"`), fmt.Appendf(nil, `"shard":"s%d"`, i%shards))
			puts = append(puts, clientv3.OpPut(folder+widgetName(i), string(object)))
		}
		if _, err := client.Txn(ctx).Then(puts...).Commit(); err != nil {
			return fmt.Errorf("write objects to etcd: %w", err)
		}
	}
	return nil
}

// uidOf returns the uid of a stored object.
func uidOf(value []byte) ([]byte, error) {
	_, after, found := bytes.Cut(value, []byte(`"uid":"`))
	uid, _, complete := bytes.Cut(after, []byte(`"`))
	if !found || !complete {
		return nil, fmt.Errorf("a stored object has no uid: %.300s", value)
	}
	return uid, nil
}
