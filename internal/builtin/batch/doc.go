// Package batch has the rules of Jobs and CronJobs. No controller acts on them.
//
// Begin with definitions.go. job.go and cronjob.go have the strategies; jobspec.go has what both check.
package batch
