package etcdtest

import (
	"context"
	"errors"
	"os"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func TestEtcd(t *testing.T) {
	var e *Etcd
	t.Run("in use", func(t *testing.T) {
		e = New(t)
		t.Run("one test", func(t *testing.T) {
			prefix := e.Prefix(t)
			if again := e.Prefix(t); again != prefix {
				t.Errorf("%s, then %s", prefix, again)
			}
			if _, err := e.Client.Put(t.Context(), prefix+"/key", "value"); err != nil {
				t.Fatal(err)
			}
		})
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix:" + e.Addr().String()},
			Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		left, err := client.Get(t.Context(), "/", clientv3.WithPrefix())
		if err != nil || left.Count != 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	})
	if _, err := os.Stat(e.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

func TestRunEndsWithTheTest(t *testing.T) {
	ended := false
	t.Run("test", func(t *testing.T) {
		Run(t, func(ctx context.Context) error {
			<-ctx.Done()
			ended = true
			return ctx.Err()
		})
	})
	if !ended {
		t.Error("still running")
	}
}
