import { LuaFragment } from './lua-fragment.js';

/**
 * Kinds of keys under the prefix. A `serviceType` is one service's share of one type, `service/type`, both
 * percent-encoded; names and ids are percent-encoded too.
 *
 * - `queue:<name>:*` keys of a worker queue, as BullMQ 6 writes them, its jobs included; `name` is a service, or a
 *   service type that has limits
 * - `queues` set of the names of all worker queues
 * - `routes:<type>` hash of the routes of a type's events: the queues that receive an accepted event
 * - `subscriptions` set of `type field` for each field of each `routes` hash
 * - `handlers:<serviceType>` set of the ids of processes that handle a service type
 * - `processes`, `process:<id>` set of process ids; hash value of a process's description, which expires without heartbeats
 * - `description:<hash>` description that all processes with this hash share
 * - `service-types:<type>` set of the service types for which something of a type was counted
 * - `stats:<serviceType>`, `minutes:<serviceType>`, `failures:<serviceType>` counters, counters per minute, list of
 *   the last failures
 * - `run:<serviceType>:<id>`, `run:<serviceType>:<id>:checkpoints` hashes of a run
 * - `runs:<serviceType>`, `ended:<serviceType>` sorted set of run ids in order of acceptance, list of ended ones
 * - `dead-letters:<serviceType>` sorted set of event ids in order of failure
 * - `dead-letter:<service>:<id>`, `dead-letter:<service>:<id>:checkpoints` the job of a failed event, and its
 *   checkpoints
 * - `parked:<serviceType>` list of `queue key\nid` of jobs that no process handles
 * - `dedupe:<type>:<dedupeId>` id of the event that was accepted
 * - `executed:<token>` reply of a script that must not run twice
 * - `sequence`, `revision` counters: order of acceptance, number of changes
 * - `run-ends` channel that announces ends of runs
 * - `kv:<key>` entry of the key-value store
 */
export const keyKinds = [
  'queue',
  'queues',
  'routes',
  'subscriptions',
  'handlers',
  'processes',
  'process',
  'description',
  'service-types',
  'stats',
  'minutes',
  'failures',
  'run',
  'runs',
  'ended',
  'dead-letters',
  'dead-letter',
  'parked',
  'dedupe',
  'executed',
  'sequence',
  'revision',
  'run-ends',
  'kv',
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

/** `key(kind, ...)` and `queueKey(name)`. */
export const keys: LuaFragment = new LuaFragment(`
local prefix = KEYS[1]
local function key(...)
  return table.concat({ prefix, ... }, ':')
end
local function queueKey(name)
  return key('queue', name, '')
end
`);
