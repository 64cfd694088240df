package storagesuite

import (
	"bytes"
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/features"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// fixture is the environment of one of upstream's functions.
type fixture struct {
	*adapter
	mode mode
	etcd *etcdtest.Etcd
}

// TestStorage runs upstream's functions in every mode.
func TestStorage(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			etcd := etcdtest.New(t) // a function may expect that nothing else advances the revision
			run, runAlone := on(t, m, func(*testing.T) *etcdtest.Etcd { return etcd }), on(t, m, ownEtcd)
			objects(run)
			deletions(run)
			updates(run)
			lists(run, runAlone)
			watches(run, runAlone)
			watchLists(run)
		})
	}
}

// TestStorageWithFeatureGates runs the functions that set feature gates. They are not parallel, because gates belong
// to the process.
func TestStorageWithFeatureGates(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) { watchSemantics(on(t, m, ownEtcd)) })
	}
}

// TestStorageSlowly runs the functions that wait for seconds.
func TestStorageSlowly(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			slowWatches(on(t, m, func(t *testing.T) *etcdtest.Etcd {
				t.Parallel()
				return ownEtcd(t)
			}))
		})
	}
}

func ownEtcd(t *testing.T) *etcdtest.Etcd { return etcdtest.New(t) }

// on returns a runner of tests in a mode, with an etcd.
func on(t *testing.T, m mode, etcd func(*testing.T) *etcdtest.Etcd) runner {
	return func(name string, test func(context.Context, *testing.T, *fixture)) {
		t.Run(name, func(t *testing.T) {
			e := etcd(t)
			test(context.Background(), t, &fixture{adapter: newStore(t, m, e), mode: m, etcd: e})
		})
	}
}

type runner = func(name string, test func(context.Context, *testing.T, *fixture))

func objects(run runner) {
	run("Create", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestCreate(ctx, t, f, f.validate)
	})
	run("CreateWithKeyExist", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestCreateWithKeyExist(ctx, t, f)
	})
	run("Get", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGet(ctx, t, f)
	})
	run("Stats", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestStats(ctx, t, f, codec, f.transformer.get(), false)
	})
}

func deletions(run runner) {
	run("UnconditionalDelete", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestUnconditionalDelete(ctx, t, f)
	})
	run("ConditionalDelete", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestConditionalDelete(ctx, t, f)
	})
	run("DeleteWithSuggestion", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestion(ctx, t, f)
	})
	run("DeleteWithSuggestionAndConflict", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestionAndConflict(ctx, t, f)
	})
	run("DeleteWithConflict", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithConflict(ctx, t, f)
	})
	run("DeleteWithSuggestionOfDeletedObject", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestionOfDeletedObject(ctx, t, f)
	})
	run("ValidateDeletionWithSuggestion", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestValidateDeletionWithSuggestion(ctx, t, f)
	})
	run("ValidateDeletionWithOnlySuggestionValid", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestValidateDeletionWithOnlySuggestionValid(ctx, t, f)
	})
	run("PreconditionalDeleteWithSuggestion", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestPreconditionalDeleteWithSuggestion(ctx, t, f)
	})
	run("PreconditionalDeleteWithOnlySuggestionPass", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass(ctx, t, f)
	})
	run("DeleteWithConflictAndMissingExpectedError", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError(ctx, t, f, f.makeFailing())
	})
	run("DeleteExpectedError", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteExpectedTransformOrDecodeError(ctx, t, f, f.makeFailing())
	})
	run("DeleteWithSuggestionAndMissingExpectedError", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError(ctx, t, f)
	})
}

func updates(run runner) {
	run("GuaranteedUpdate", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdate(ctx, t, f, f.validate)
	})
	run("GuaranteedUpdateChecksStoredData", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdateChecksStoredData(ctx, t, f)
	})
	run("GuaranteedUpdateWithConflict", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdateWithConflict(ctx, t, f)
	})
	run("GuaranteedUpdateWithSuggestionAndConflict", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict(ctx, t, f)
	})
	run("TransformationFailure", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestTransformationFailure(ctx, t, f)
	})
}

func lists(run, runAlone runner) {
	runAlone("List", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestList(ctx, t, f, f.compact, false, nil)
	})
	run("ConsistentList", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestConsistentList(ctx, t, f, f.increaseRV, !f.mode.cold, !f.mode.late, !f.mode.late)
	})
	run("GetListNonRecursive", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGetListNonRecursive(ctx, t, f.increaseRV, f)
	})
	run("GetListRecursivePrefix", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGetListRecursivePrefix(ctx, t, f.settle())
	})
	run("GetListWithoutErrorAggregation", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestGetListWithoutErrorAggregation(ctx, t, f, errSynthetic)
	})
	run("ListContinuation", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListContinuation(ctx, t, f, uncounted)
	})
	run("ListPaginationRareObject", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListPaginationRareObject(ctx, t, f, uncounted)
	})
	run("ListContinuationWithFilter", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListContinuationWithFilter(ctx, t, f, uncounted)
	})
	runAlone("ListInconsistentContinuation", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListInconsistentContinuation(ctx, t, f.settle(), f.compact)
	})
	runAlone("CompactRevision", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestCompactRevision(ctx, t, f, f.increaseRV, f.compact)
	})
	run("ListResourceVersionMatch", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListResourceVersionMatch(ctx, t, f)
	})
	run("ListPaging", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListPaging(ctx, t, f)
	})
	run("NamespaceScopedList", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestNamespaceScopedList(ctx, t, f)
	})
}

func watches(run, runAlone runner) {
	run("Watch", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatch(ctx, t, f)
	})
	run("ClusterScopedWatch", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestClusterScopedWatch(ctx, t, f)
	})
	run("NamespaceScopedWatch", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestNamespaceScopedWatch(ctx, t, f)
	})
	run("DeleteTriggerWatch", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDeleteTriggerWatch(ctx, t, f)
	})
	runAlone("WatchFromZero", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchFromZero(ctx, t, f, f.compactAndForget)
	})
	run("WatchFromNonZero", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchFromNonZero(ctx, t, f)
	})
	run("WatchError", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchError(ctx, t, f)
	})
	run("WatchWithUnsafeDelete", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchWithUnsafeDelete(ctx, t, f.settle(), errSynthetic)
	})
	run("WatchContextCancel", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchContextCancel(ctx, t, f)
	})
	run("WatcherTimeout", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatcherTimeout(ctx, t, f)
	})
	run("WatchDeleteEventObjectHaveLatestRV", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV(ctx, t, f)
	})
	run("WatchErrorIsBlockingFurtherEvents", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunWatchErrorIsBlockingFurtherEvents(ctx, t, f)
	})
}

func watchLists(run runner) {
	run("ProgressNotify", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunOptionalTestProgressNotify(ctx, t, f, f.increaseFed)
	})
}

// watchSemantics are the functions that set feature gates, and one that needs their defaults.
func watchSemantics(run runner) {
	run("SendInitialEventsBackwardCompatibility", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunSendInitialEventsBackwardCompatibility(ctx, t, f)
	})
	run("WatchSemantics", func(ctx context.Context, t *testing.T, f *fixture) {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.WatchList, true)
		storagetesting.RunWatchSemantics(ctx, t, f)
	})
	run("WatchSemanticInitialEventsExtended", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunWatchSemanticInitialEventsExtended(ctx, t, f)
	})
	run("WatchListMatchSingle", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunWatchListMatchSingle(ctx, t, f)
	})
}

func slowWatches(run runner) {
	run("DelayedWatchDelivery", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestDelayedWatchDelivery(ctx, t, f)
	})
	run("WatchDispatchBookmarkEvents", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, f, true)
	})
	run("WatchBookmarksWithCorrectResourceVersion", func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestOptionalWatchBookmarksWithCorrectResourceVersion(ctx, t, f)
	})
}

// uncounted accepts any number of requests: upstream's functions count those to etcd and to the transformer.
func uncounted(*testing.T, uint64, uint64) {}

// validate checks the stored value of an object.
func (f *fixture) validate(ctx context.Context, t *testing.T, of string) {
	name, err := key(of, false)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.etcd.Client.Get(ctx, f.prefix+"/"+group+resourcePrefix+name)
	if err != nil || len(response.Kvs) != 1 {
		t.Fatalf("%s is not stored: %v", of, err)
	}
	value, transformed := bytes.CutPrefix(response.Kvs[0].Value, []byte(stored))
	pod, err := runtime.Decode(codec, value)
	if !transformed || err != nil || pod.(*example.Pod).ResourceVersion != "" {
		t.Errorf("%s is stored as %s: %v", of, response.Kvs[0].Value, err)
	}
}

// compact compacts like a kube-apiserver, which writes a key before.
func (f *fixture) compact(ctx context.Context, t *testing.T, resourceVersion string) {
	f.putAt(ctx, t, "compact_rev_key")
	revision, err := versioner.ParseResourceVersion(resourceVersion)
	if err == nil {
		_, err = f.etcd.Client.Compact(ctx, int64(revision))
	}
	if err == nil {
		err = f.store.UpdateCompactedRevision(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compactAndForget also makes the resource cold, because watches get the events in memory even after a compaction.
func (f *fixture) compactAndForget(ctx context.Context, t *testing.T, resourceVersion string) {
	f.compact(ctx, t, resourceVersion)
	f.resource.Release()
}

// settle makes creations wait for their events, for tests that read any state afterwards.
func (f *fixture) settle() *fixture {
	f.settled = true
	return f
}

// increaseRV increases the revision by a key outside of the prefix, which the feed does not see.
func (f *fixture) increaseRV(ctx context.Context, t *testing.T) int64 {
	return f.putAt(ctx, t, "/increaseRV")
}

// increaseFed increases the revision by an object of another resource.
func (f *fixture) increaseFed(ctx context.Context, t *testing.T) int64 {
	return f.putAt(ctx, t, f.prefix+"/other/things/x")
}

func (f *fixture) putAt(ctx context.Context, t *testing.T, key string) int64 {
	response, err := f.etcd.Client.Put(ctx, key, "")
	if err != nil {
		t.Fatal(err)
	}
	return response.Header.Revision
}
