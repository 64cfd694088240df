package roleaggregation

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	applyrbacv1 "k8s.io/client-go/applyconfigurations/rbac/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/rbac"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

// fieldManager is the manager of the rules of aggregated roles, as upstream.
const fieldManager = "clusterrole-aggregation-controller"

// Config configures a Controller.
type Config struct {
	Store *dynamicstorage.Store
	Set   *builtin.Set
	// ClusterRoles is the definition in the set.
	ClusterRoles *resource.Definition
	// Client is of this server, as a user that may do everything.
	Client *rest.Config
}

// Controller keeps the rules of aggregated ClusterRoles. One replica runs it at a time, but several do no harm. While
// no ClusterRole changes it does nothing.
type Controller struct {
	stored *dynamicstorage.Resource
	codec  *builtin.Codec
	roles  rbacclient.ClusterRoleInterface
}

// New returns a controller. It does nothing before Run.
func New(config Config) *Controller {
	return &Controller{
		stored: config.Store.ResourceAt(config.ClusterRoles.StorageFolder()),
		codec:  config.Set.Codec(config.ClusterRoles),
		roles:  rbacclient.NewForConfigOrDie(config.Client).ClusterRoles(),
	}
}

// Run works until ctx is done, and returns when all goroutines of the controller have ended. It may be called again.
func (c *Controller) Run(ctx context.Context) {
	r := &run{
		Controller: c, aggregated: map[string]struct{}{},
		queue: workers.NewQueue[string]("clusterrole_aggregation", time.Minute),
	}
	var running sync.WaitGroup
	running.Go(func() {
		c.stored.Follow(ctx, dynamicstorage.Follower{
			Begin: func() { clear(r.aggregated) }, Changed: r.changed, Current: func(int64) { r.queueAll() },
		})
	})
	r.queue.Work(ctx, 1, "Aggregation failed, will retry", c.sync)
	running.Wait()
}

// run is one run of a controller.
type run struct {
	*Controller
	queue workers.Queue[string] // names of aggregated roles
	// aggregated has the names of the roles with an aggregationRule. Only its follower uses it.
	aggregated map[string]struct{}
}

// changed finds out whether a role is aggregated. A value that cannot be read is not.
func (r *run) changed(event *dynamicstorage.Event) {
	entry := event.Entry
	if entry == nil {
		delete(r.aggregated, event.Prev.Key)
		return
	}
	delete(r.aggregated, entry.Key)
	if role, err := r.decode(entry); err == nil && role.AggregationRule != nil {
		r.aggregated[entry.Key] = struct{}{}
	}
}

// queueAll queues all aggregated roles when any role changes, as upstream: they are few.
func (r *run) queueAll() {
	for name := range r.aggregated {
		r.queue.Add(name)
	}
}

func (c *Controller) decode(entry *dynamicstorage.Entry) (*rbacv1.ClusterRole, error) {
	obj, err := c.codec.Object(entry)
	if err != nil {
		return nil, err
	}
	return obj.(*rbacv1.ClusterRole), nil
}

// sync writes the rules of a role if they are not those of the roles that it selects.
func (c *Controller) sync(ctx context.Context, name string) error {
	entry, _, err := c.stored.Get(ctx, name, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if errors.Is(err, dynamicstorage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	role, err := c.decode(entry)
	if err != nil || role.AggregationRule == nil {
		return err
	}
	candidates, err := c.candidates(ctx, role.AggregationRule)
	if err != nil {
		return err
	}
	rules, err := rbac.AggregatedRules(role, candidates)
	if err != nil || slices.EqualFunc(rules, role.Rules, rbac.SameRule) {
		return err
	}
	_, err = c.roles.Apply(ctx, configuration(name, rules), metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// candidates returns the roles that one of the selectors of an aggregated role matches.
func (c *Controller) candidates(
	ctx context.Context, rule *rbacv1.AggregationRule,
) (roles []*rbacv1.ClusterRole, err error) {
	selectors := make([]labels.Selector, len(rule.ClusterRoleSelectors))
	for n := range selectors {
		if selectors[n], err = metav1.LabelSelectorAsSelector(&rule.ClusterRoleSelectors[n]); err != nil {
			return nil, err
		}
	}
	_, err = c.stored.Each(ctx, func(entry *dynamicstorage.Entry) {
		matches := func(s labels.Selector) bool { return s.Matches(entry.Header.Labels) }
		if !slices.ContainsFunc(selectors, matches) {
			return
		}
		if role, err := c.decode(entry); err == nil { // a role that cannot be read gives no rights
			roles = append(roles, role)
		}
	})
	return roles, err
}

// configuration returns the configuration to apply.
func configuration(name string, rules []rbacv1.PolicyRule) *applyrbacv1.ClusterRoleApplyConfiguration {
	role := applyrbacv1.ClusterRole(name)
	for n := range rules {
		rule := &rules[n]
		role.WithRules(applyrbacv1.PolicyRule().WithVerbs(rule.Verbs...).WithAPIGroups(rule.APIGroups...).
			WithResources(rule.Resources...).WithResourceNames(rule.ResourceNames...).
			WithNonResourceURLs(rule.NonResourceURLs...))
	}
	return role
}
