package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// builtinObjects is the number of objects of each kind and format.
	builtinObjects = 5000
	// builtinWatchers see each of builtinEvents changes.
	builtinWatchers = 100
	builtinEvents   = 200
)

// builtin measures built-in resources beside kube-apiserver, in JSON and in protobuf.
func (b *Bench) builtin(ctx context.Context) (err error) {
	all, err := formats()
	if err != nil {
		return err
	}
	var servers []*Server
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Stop())
		}
	}()
	for _, kind := range b.kinds(Kubernetes, Ours) {
		if kind == Kubernetes {
			if err := b.Programs.buildKubernetes(); err != nil {
				return err
			}
		}
		s, err := start(ctx, b.Programs, kind)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	for _, f := range all {
		for _, s := range servers {
			if err := b.builtinFormat(ctx, s, f); err != nil {
				return fmt.Errorf("%s, %s: %w", f.name, s.Kind, err)
			}
		}
	}
	return nil
}

// builtinFormat measures one format, in a namespace of its own.
func (b *Bench) builtinFormat(ctx context.Context, s *Server, f format) error {
	namespace := "bench-" + strings.ToLower(f.name)
	if err := s.createNamespace(ctx, namespace); err != nil {
		return err
	}
	for _, c := range s.clients {
		c.accept = f.mediaType
		defer func() { c.accept = "" }()
	}
	for _, k := range []builtinKind{secrets, configMaps, leases} {
		o := builtinLoad{Bench: b, server: s, format: f, kind: k, collection: k.collection(namespace), namespace: namespace}
		if err := o.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// builtinLoad puts load on the objects of a kind in a format.
type builtinLoad struct {
	*Bench
	server     *Server
	format     format
	kind       builtinKind
	namespace  string
	collection string
}

func (o *builtinLoad) run(ctx context.Context) error {
	for _, measure := range []func(context.Context) error{o.create, o.get, o.list} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	switch o.kind.name {
	case leases.name:
		return o.renew(ctx)
	case configMaps.name:
		return o.watch(ctx)
	}
	return nil
}

// row is the row of a verb.
func (o *builtinLoad) row(verb string, unit Unit) Work {
	return Work{Part: partBuiltin, Name: fmt.Sprintf("%s: %s, %s", o.kind.name, verb, o.format.name), Unit: unit}
}

func (o *builtinLoad) name(i int) string { return fmt.Sprintf("bench-%05d", i%builtinObjects) }

func (o *builtinLoad) create(ctx context.Context) (err error) {
	bodies := make([][]byte, builtinObjects)
	for i := range bodies {
		if bodies[i], err = o.format.encode(o.kind.object(o.namespace, o.name(i))); err != nil {
			return err
		}
	}
	return o.load(ctx, o.server, o.row("create", MicrosCPU), Load{For: 10 * time.Minute, Count: builtinObjects,
		Op: func(ctx context.Context, c *Client, i int) error {
			_, err := c.Do(ctx, http.StatusCreated, http.MethodPost, o.collection, o.format.mediaType, bodies[i])
			return err
		}})
}

func (o *builtinLoad) get(ctx context.Context) error {
	return o.load(ctx, o.server, o.row("GET", MicrosCPU), Load{Op: func(ctx context.Context, c *Client, i int) error {
		_, err := c.Get(ctx, o.collection+"/"+o.name(i*7919))
		return err
	}})
}

// list checks that a list is complete, and lists.
func (o *builtinLoad) list(ctx context.Context) error {
	list, size, err := o.listed(ctx)
	if err != nil {
		return err
	}
	if count := meta.LenList(list); count != builtinObjects {
		return fmt.Errorf("a list has %d objects, not %d", count, builtinObjects)
	}
	work := o.row(fmt.Sprintf("list of %d", builtinObjects), MillisCPU)
	o.Results.Note(work, o.server.Kind, "%d bytes an object", size/builtinObjects)
	return o.load(ctx, o.server, work, Load{Clients: 1, Op: func(ctx context.Context, c *Client, _ int) error {
		_, err := c.Drain(ctx, o.collection)
		return err
	}})
}

// listed returns all objects, and the size of the list.
func (o *builtinLoad) listed(ctx context.Context) (list runtime.Object, size int, err error) {
	answer, err := o.server.Client().Get(ctx, o.collection)
	if err != nil {
		return nil, 0, err
	}
	if answer, err = unpack(answer); err != nil {
		return nil, 0, err
	}
	list, err = decode(answer)
	return list, len(answer), err
}

// renew updates leases as leaders do: each writes the lease that its last write returned, with another time.
func (o *builtinLoad) renew(ctx context.Context) error {
	list, _, err := o.listed(ctx)
	if err != nil {
		return err
	}
	held := list.(*coordinationv1.LeaseList).Items
	renewOne := func(ctx context.Context, c *Client, i int) error {
		lease := &held[i%len(held)] // no other request is about this one: there are far more leases than clients
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		body, err := o.format.encode(lease)
		if err != nil {
			return err
		}
		answer, err := c.Do(ctx, http.StatusOK, http.MethodPut, o.collection+"/"+lease.Name, o.format.mediaType, body)
		if err != nil {
			return err
		}
		renewed, err := decode(answer)
		if err != nil {
			return err
		}
		*lease = *renewed.(*coordinationv1.Lease)
		return nil
	}
	return o.load(ctx, o.server, o.row("renew (PUT)", MicrosCPU), Load{Op: renewOne})
}

func (o *builtinLoad) watch(ctx context.Context) error {
	body, err := o.format.encode(o.kind.object(o.namespace, watchedName))
	if err != nil {
		return err
	}
	c := o.server.Client()
	if _, err := c.Do(ctx, http.StatusCreated, http.MethodPost, o.collection, o.format.mediaType, body); err != nil {
		return err
	}
	state, err := c.getAs(ctx, o.collection+"/"+watchedName, asJSON)
	if err != nil {
		return err
	}
	c.accept = o.format.mediaType // getAs has changed it
	return o.watchFrom(ctx, o.server, state, watched{
		work:       o.row(fmt.Sprintf("%d watchers x %d events, by event", builtinWatchers, builtinEvents), MicrosCPU),
		collection: o.collection, clients: o.server.clients[:clientCount], watchers: builtinWatchers, events: builtinEvents,
	})
}
