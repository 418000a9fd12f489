/** Version of the layout of all keys. It grows with each change that earlier versions of Hubline cannot read. */
export const dataLayout = 3;

/**
 * Kinds of keys under the prefix. A `serviceType` is one service's share of one type, `service/type`, both
 * percent-encoded; names and ids are percent-encoded too.
 *
 * - `queue:<name>:*` keys of a worker queue, as BullMQ 6 writes them, its jobs included; `name` is a service, or a
 *   service type with a queue of its own. `:marker:<process>` wakes the worker of one process
 * - `queues` set of the names of all worker queues
 * - `turns:<name>`, `due:<name>` sorted sets of the service types of a worker queue: those with an event that may
 *   start, by turn, and those with a delay that ends or a rate that opens, by time
 * - `turn:<name>` last turn that a worker queue gave
 * - `dispatch:<serviceType>` hash with the settings in effect, the worker queue and the state of a service type
 * - `gate:<serviceType>`, `delayed:<serviceType>` sorted sets of the ids of waiting jobs, by priority and acceptance,
 *   and of delayed ones, by due time
 * - `backlog:<serviceType>` sorted set of the ids of events that a declared type kept for a service, by acceptance, until the
 *   service subscribes to the type: they may trigger runs
 * - `newer:<serviceType>`, `newer-types:<service>` sorted set of the ids of waiting runs that need a higher version of
 *   their workflow, by that version, and set of the service types with such runs
 * - `line:<serviceType>:<key>` sorted set of the ids of the waiting jobs of one key, by priority and acceptance; `key` is
 *   empty, or an equals sign and the encoded key
 * - `lines:<serviceType>`, `blocked:<serviceType>` sorted sets of the keys with a queue: those with an event that may
 *   start, by turn, and those that wait, by the time at which their rate opens
 * - `held:<serviceType>` hash of the number of taken slots per key
 * - `windows:<serviceType>` hash of the open debounce windows per key: time of their opening, a space and the id of a job
 * - `key-starts:<serviceType>:<key>` list of the times of the last starts of a key with a rate, newest first
 * - `overdue:<serviceType>` hash of the leases that have ended while their handler runs on, and keeps a slot of the type
 *   and of the key that is the value
 * - `interrupted:<serviceType>` hash of those of them that ended because another process ended the event, with the reason
 * - `starts:<serviceType>` list of the times of the last starts of a type with a rate, newest first
 * - `routes:<type>` hash of the routes of a type's events: the service types that receive an accepted event
 * - `handlers:<serviceType>` hash of the settings of each process that handles a service type, by process id
 * - `services`, `subscribed:<service>` sets of the services with subscriptions, and of the service types of one
 * - `members:<service>` sorted set of the ids of the consuming processes of a service, in the order of their start
 * - `settlement:<service>` hash: number of membership changes, the last one that a rebalance includes, the number of
 *   service types on the queue that the service shares, the service types that are paused and the revision of that
 * - `settled` channel that announces the rebalanced services
 * - `registrations`, `process:<id>` sorted set of process ids by the time at which their registration ends without a
 *   heartbeat; hash value of a process's description, which expires then
 * - `state:<id>` state of a process, which expires with its registration
 * - `description:<hash>` description that all processes with this hash share
 * - `last-descriptions:<service>` sorted set of the hashes of the descriptions of a service's consuming processes, by the
 *   time of their last heartbeat; those of ended processes remain as retained-descriptions.lua says
 * - `service-types` hash of the service types for which something of a type was counted, by type
 * - `changes`, `counts`, `counted:<minute>`, `counted-minutes` list of counted changes, hashes of the counters of all service types
 *   and of a minute of all types over all services, and sorted set of these minutes, as count-records.lua describes them;
 *   `/` is the type of all event types. What was counted in a minute expires with the histories, if no process is left
 * - `last-hours`, `history:<type>` hash of the last hours of all types, and hash with the rest of the history of a type,
 *   which expires a week after the last event, as read-activity.lua describes them
 * - `rolling`, `rolled` id of the process that moves minutes to the histories; changes whenever one has been moved
 * - `failures:<serviceType>` list of the last failures
 * - `recent:<serviceType>:<status>`, `records:<serviceType>` lists of the ids of the newest ended events without a run,
 *   and hash of their records
 * - `requests` sorted set of the events that are pending or retained, ordered by the id of their request
 * - `places:<slot>` hash of the service types of the events that are pending or retained, separated by commas, by a hash of
 *   their job ids
 * - `index-ends:<serviceType>` sorted set of events whose run or dead letter Redis deletes, by that time: as members of
 *   `requests`, or as job ids
 * - `run:<serviceType>:<id>` hash of a run; after it, `:order`, the list of its entries, `:checkpoints` and `:outputs`,
 *   hashes of these, `:waits`, a hash of its open waits, `:inbox`, a hash of the events that it keeps, `:reported`, which
 *   exists for a minute after a report that it dropped events, and `:waiters`, a set of the processes that wait for its end
 * - `kept:<requestId>`, `keepers:<id>` sets of the events of a request that runs keep, and of the runs that keep an event:
 *   service type, id and name in the inbox
 * - `suspended:<serviceType>` hash of the records of suspended runs, which take the place of their jobs and of the keys
 *   of small ones
 * - `approvals:<serviceType>` sorted set of the open approvals of runs, by the time at which they were asked for
 * - `timers:<serviceType>` sorted set of the waits with a time, by that time: number of the run and name of the wait
 * - `waiting:<type>` sorted set of the waits for events of a type: key of the event, service type, number of the run
 *   and name of the wait
 * - `runs:<serviceType>`, `ended:<serviceType>:<status>` sorted set of run ids by their number, which is the order of acceptance,
 *   lists of ended ones
 * - `dead-letters:<serviceType>` sorted set of event ids in order of failure
 * - `expiring:<serviceType>` sorted set of the ids of dead letters with a maximum age, by the time at which it ends
 * - `dead-letter:<service>:<id>` the job of a failed event; after it, `:order`, `:checkpoints` and `:outputs`
 * - `dedupe:<type>:<dedupeId>` hash: id of the event that was accepted, end of the window, number of services in which
 *   the event is pending
 * - `overlap:<type>:<key>` the same of the pending event of a key with an overlap, and in `others` the ids of those that were
 *   replayed beside it, separated by spaces
 * - `executed:<token>` reply of a script that must not run twice
 * - `schedules` set of all schedules, as `service/name`, both percent-encoded
 * - `schedule:<schedule>` hash: definition, position and state of a schedule, number of changes
 * - `openers:<schedule>` hash of the definitions of the processes that have a schedule, by process id
 * - `stored-schedules` sorted set of the ids of the schedules that were set at run time, all with the score 0
 * - `stored-schedule:<id>` hash of one: definition, position, last due time, time to look at it, options and event
 * - `timetable` sorted set of the ids of those that are due again, by the time from which a process can take them
 * - `epoch`, `recovering` identity of the data, which is gone after a loss; set while services register again
 * - `layout` version of the layout of all keys, which the first process to start writes
 * - `sequence`, `revision` counters: order of acceptance, number of changes
 * - `run-ends:<process>` channel on which a process hears of the runs that it waits for or runs
 * - `run-changes:<serviceType>:<id>` channel that announces new entries and waits of a run
 * - `kv:<key>` entry of the key-value store
 * - `log:<name>` list of the entries of a log, which expires with the newest one, and channel that announces appends. That
 *   of the live output of an event or a run is deleted with the run
 */
export const keyKinds = [
  'queue',
  'queues',
  'turns',
  'due',
  'turn',
  'dispatch',
  'gate',
  'delayed',
  'backlog',
  'newer',
  'newer-types',
  'line',
  'lines',
  'blocked',
  'held',
  'windows',
  'key-starts',
  'overdue',
  'interrupted',
  'starts',
  'routes',
  'handlers',
  'services',
  'keepers',
  'kept',
  'subscribed',
  'members',
  'settlement',
  'settled',
  'registrations',
  'process',
  'state',
  'description',
  'last-descriptions',
  'service-types',
  'changes',
  'counts',
  'counted',
  'counted-minutes',
  'last-hours',
  'history',
  'rolling',
  'rolled',
  'failures',
  'recent',
  'records',
  'requests',
  'places',
  'index-ends',
  'run',
  'runs',
  'suspended',
  'approvals',
  'timers',
  'waiting',
  'ended',
  'dead-letters',
  'expiring',
  'dead-letter',
  'dedupe',
  'overlap',
  'executed',
  'schedules',
  'schedule',
  'openers',
  'stored-schedules',
  'stored-schedule',
  'timetable',
  'epoch',
  'recovering',
  'layout',
  'sequence',
  'revision',
  'run-ends',
  'run-changes',
  'kv',
  'log',
] as const;

export type KeyKind = (typeof keyKinds)[number];

/** Returns the key of a kind; the Lua function `key` does the same in scripts. */
export function redisKey(prefix: string, kind: KeyKind, ...parts: readonly string[]): string {
  return [prefix, kind, ...parts].join(':');
}

/** Returns the prefix of the keys of a worker queue and of its jobs. */
export function queueKey(prefix: string, name: string): string {
  return redisKey(prefix, 'queue', name, '');
}
