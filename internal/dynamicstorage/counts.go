package dynamicstorage

import "sync/atomic"

// counts are what has happened to a resource since its store was made. They are added to only, without a lock.
type counts struct {
	// received are the events of the feed that were of interest.
	received atomic.Int64
	// loads have brought the resource into memory, reloads among them did so after events were lost; failedLoads were tried in vain.
	loads, reloads, failedLoads atomic.Int64
	// inMemory are the consistent reads that memory has answered; passedOn those that went to etcd, as the feed was behind.
	inMemory, passedOn atomic.Int64
	// lists are the snapshots made from memory; storedLists those that have to be read from etcd.
	lists, storedLists atomic.Int64
	// consistent, different and unchecked are the comparisons with etcd, by how they ended.
	consistent, different, unchecked atomic.Int64
}

// madeViews are the views made by the viewers of all stores.
var madeViews atomic.Int64
