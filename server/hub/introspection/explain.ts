import type { Redactor } from '../../redaction.js';
import { workflowOf } from '../../transports/delivery.js';
import type { EventRecord, EventStatus } from '../../transports/event-record.js';
import type { KeyValueStore } from '../../transports/key-values.js';
import { type BacklogRate, backlogRate, type WaitingCounts, waitingOf } from '../../transports/statistics/backlog.js';
import type { TransportManager } from '../../transports/transport.js';
import type { EventRate } from '../events/event.js';
import { describedRule } from '../limits/limit.js';
import { isUsedUp } from '../limits/limit-keeper.js';
import { type Pause, PausedSubjects } from '../pauses.js';
import { introspectRun } from '../runs/run-introspection.js';
import { type EventDescription, type HubDescription, isRunning, type WorkflowDescription } from './hub-description.js';
import type { ProcessIntrospection } from './process-state.js';
import type { ReleaseIntrospection } from './releases.js';

/** Reason for which an event or a run does not run. */
export type BlockerKind =
  | 'delay'
  | 'retry'
  | 'wait-event'
  | 'wait-approval'
  | 'child-run'
  | 'inbox'
  | 'paused'
  | 'no-process'
  | 'version'
  | 'crash-isolation'
  | 'concurrency'
  | 'process-slots'
  | 'rate'
  | 'limit'
  | 'key';

/** Condition that holds an event or a run, with what ends it. */
export interface Blocker {
  readonly kind: BlockerKind;
  /** Workflow of the child run that it holds; absent of what holds the event or the run itself. */
  readonly child?: string;
  /** Epoch milliseconds at which it ends by time; of `rate` and `limit` the latest time of the next attempt to start. */
  readonly until?: number;
  /** Epoch milliseconds at which it began. */
  readonly since?: number;
  /** Step of a run that waits. */
  readonly step?: string;
  /** Type of the event that the step waits for. */
  readonly eventType?: string;
  /** Child run that the step waits for; of `inbox` the run that keeps the event until one of its waits takes it. */
  readonly runId?: string;
  /** Events in the inbox of the run, none of which its waits take. */
  readonly kept?: number;
  /** Events that the inbox was too full for. */
  readonly dropped?: number;
  /** Name of the person or program that paused it, and the reason. */
  readonly by?: string;
  readonly reason?: string;
  /** Release that its service had last, which ended at `since`. */
  readonly release?: string;
  /** Version of the workflow that the run needs. */
  readonly version?: number;
  /** Limit that is reached: events at once, or a rate. */
  readonly limit?: number | EventRate;
  /** Name of the {@link createLimit | limit} that is reached. */
  readonly limitName?: string;
  /**
   * Events that hold the slots of the type, of its 50 newest ones; of `crash-isolation` those that run alone in their
   * processes, or are about to.
   */
  readonly holders?: readonly { readonly id: string; readonly since?: number }[];
  /**
   * Processes of the service that have no free slot; of `crash-isolation` those that start nothing else, or those in which
   * the event waits for the others to end.
   */
  readonly processes?: readonly Pick<ProcessIntrospection, 'id' | 'host' | 'active' | 'slots'>[];
}

/** Answer to why an event or a run does not run. Result of `hub.explain`. */
export interface Explanation {
  readonly id: string;
  /** Event type, or name of the workflow. */
  readonly type: string;
  readonly service: string;
  readonly status: EventStatus;
  /**
   * Conditions that hold it; behind each `child-run` those that hold the child run, of at most 10 runs. Empty if it runs,
   * has ended, or is about to start.
   */
  readonly blockers: readonly Blocker[];
  /** Events of the type that wait for a slot in the service, this one included. Absent unless it is one of them. */
  readonly waiting?: number;
  /** Epoch milliseconds at which it continues, if time alone holds it. */
  readonly expectedAt?: number;
}

/** Events of a type that wait for a slot, how fast they arrive and leave, and what holds them. Result of `hub.backlog`. */
export interface Backlog extends BacklogRate {
  /** Event type, or name of the workflow. */
  readonly type: string;
  /** Conditions that hold them, per service in which events wait. Empty if they are about to start. */
  readonly bottlenecks: readonly (Blocker & { readonly service: string })[];
}

/** State of the hubs around an event. */
export interface ExplainedFleet {
  readonly hubs: readonly HubDescription[];
  readonly processes: readonly ProcessIntrospection[];
  readonly pauses: readonly Pause[];
  readonly releases: readonly ReleaseIntrospection[];
}

type ExplainParts = Pick<TransportManager, 'lookup' | 'counts' | 'kv'>;

/** Child runs that an explanation follows. */
const maxChildren = 10;

/**
 * Explains an event in one service: the one in which it is pending, if it ended in others. What holds the child runs that
 * it waits for holds it too.
 *
 * @param followed ids of the child runs that were followed
 */
export async function explainEvent(
  id: string,
  parts: ExplainParts,
  redactor: Redactor,
  readFleet: () => Promise<ExplainedFleet>,
  followed: Set<string> = new Set(),
): Promise<Explanation | undefined> {
  const records = await parts.lookup.find(id);
  const record = records.find(({ endedAt }) => endedAt === undefined) ?? records[0];
  if (record?.endedAt !== undefined || record === undefined) {
    const kept = await parts.lookup.kept(id);
    const [first] = kept;
    const blockers = kept.map(({ runId }) => ({ kind: 'inbox' as const, runId }));
    if (first !== undefined) return { id, type: first.type, service: first.service, status: 'waiting', blockers };
  }
  if (record === undefined) return undefined;
  const { type, service, status } = record;
  const shown = { id, type: workflowOf(type) ?? type, service, status };
  if (record.endedAt !== undefined) return { ...shown, blockers: [] };
  const fleet = await readFleet();
  if (status === 'active') return { ...shown, blockers: isolationOf(id, fleet) };
  const held = heldByFleet(record, fleet);
  if (status !== 'waiting') {
    const waits = status === 'delayed' ? [await delayOf(record, fleet, parts.kv)] : waitsOf(record, redactor);
    const dueTimes = waits.map(({ kind, until }) => (kind === 'delay' || kind === 'retry' ? until : undefined));
    const isTimed = held.length === 0 && dueTimes.length > 0 && dueTimes.every((at) => at !== undefined);
    const expectedAt = isTimed ? Math.min(...dueTimes.filter((at) => at !== undefined)) : undefined;
    const blockers: Blocker[] = [];
    for (const wait of waits) {
      const child = await explainChild(wait, parts, redactor, fleet, followed);
      blockers.push(wait, ...child);
    }
    return { ...shown, blockers: [...blockers, ...held], ...(expectedAt !== undefined && { expectedAt }) };
  }
  const [found] = await parts.counts.get([type]);
  const own = found?.services.find((share) => share.service === service)?.counts;
  const waiting = own === undefined ? 1 : waitingOf(own);
  const blockers = held.length > 0 ? held : await limitsOf({ type, service }, fleet, own?.active ?? 0, parts);
  return { ...shown, blockers, waiting };
}

/** Returns what holds the child run that a step waits for, if it is one of the first that are followed. */
async function explainChild(
  { kind, runId }: Blocker,
  parts: ExplainParts,
  redactor: Redactor,
  fleet: ExplainedFleet,
  followed: Set<string>,
): Promise<readonly Blocker[]> {
  if (kind !== 'child-run' || runId === undefined || followed.has(runId) || followed.size === maxChildren) return [];
  followed.add(runId);
  const child = await explainEvent(runId, parts, redactor, async () => fleet, followed);
  return child?.blockers.map((blocker) => ({ child: child.type, ...blocker })) ?? [];
}

/** Reads the events of a type that wait for a slot, how fast they arrive and leave, and what holds them. */
export async function readBacklog(
  type: string,
  parts: ExplainParts,
  readFleet: () => Promise<ExplainedFleet>,
): Promise<Backlog> {
  const [{ recent, ...metrics }, [found], now] = await Promise.all([
    parts.counts.metrics(type),
    parts.counts.get([type]),
    parts.kv.now(),
  ]);
  const waiting = found?.services.filter(({ counts }) => waitingOf(counts) > 0 || isAwaitingVersion(counts)) ?? [];
  const bottlenecks: Backlog['bottlenecks'][number][] = [];
  if (waiting.length > 0) {
    const fleet = await readFleet();
    for (const { service, counts } of waiting) {
      const held = heldByFleet({ type, service }, fleet);
      const hasLimits = held.length === 0 && waitingOf(counts) > 0;
      const blockers = hasLimits ? await limitsOf({ type, service }, fleet, counts.active, parts) : held;
      // Without a process they wait for one of any version.
      if (isAwaitingVersion(counts) && held.every(({ kind }) => kind !== 'no-process')) {
        bottlenecks.push({ service, kind: 'version' });
      }
      bottlenecks.push(...blockers.map((blocker) => ({ service, ...blocker })));
    }
  }
  return { type: workflowOf(type) ?? type, ...backlogRate(metrics, recent, now), bottlenecks };
}

/** Runs of the counts wait for a process with a higher version of their workflow. */
function isAwaitingVersion({ awaitingVersion = 0 }: WaitingCounts): boolean {
  return awaitingVersion > 0;
}

/** Returns the time that a delayed event waits for, or the limit that delays it. */
async function delayOf(
  { type, service, dueAt, attempt }: EventRecord,
  fleet: ExplainedFleet,
  kv: KeyValueStore,
): Promise<Blocker> {
  const until = dueAt === undefined ? {} : { until: dueAt };
  if (attempt > 1) return { kind: 'retry', ...until };
  const limit = settingsOf({ type, service }, fleet)?.limit;
  if (limit === undefined || !(await isUsedUp(limit, kv))) return { kind: 'delay', ...until };
  const rule = describedRule(limit);
  return { kind: 'limit', limitName: limit.name, limit: 'concurrency' in rule ? rule.concurrency : rule, ...until };
}

/** Returns what the steps of a suspended run wait for. */
function waitsOf({ run }: EventRecord, redactor: Redactor): Blocker[] {
  if (run === undefined) return [];
  const { steps, inbox } = introspectRun([], run, redactor);
  const waits = steps.flatMap(({ name: step, kind, status, waitsFor }): Blocker[] => {
    if (waitsFor === undefined) return [];
    const { since, dueAt, event, runId } = waitsFor;
    const until = dueAt === undefined ? {} : { until: dueAt };
    if (kind === 'approval') return [{ kind: 'wait-approval', step, since, ...until }];
    if (runId !== undefined) return [{ kind: 'child-run', step, since, runId, ...until }];
    if (event !== undefined) return [{ kind: 'wait-event', step, since, eventType: event.type, ...until }];
    return [{ kind: status === 'retrying' ? 'retry' : 'delay', step, since, ...until }];
  });
  // What arrived is of another type or key than its waits, or a condition refused it.
  return inbox === undefined || inbox.kept === 0 ? waits : [...waits, { kind: 'inbox', ...inbox }];
}

/** Returns the processes in which a leased event waits until it can run alone. */
function isolationOf(id: string, { processes }: ExplainedFleet): Blocker[] {
  const waiting = processes.filter(({ isolated }) => isolated?.id === id && isolated.isWaiting === true);
  const [since] = waiting.flatMap(({ isolated }) => isolated?.since ?? []);
  if (since === undefined) return [];
  return [{ kind: 'crash-isolation', since, processes: waiting.map(shownProcess) }];
}

/** Returns what holds events while every process that handles their type runs one event alone. */
function isolationBy({ type, service }: Share, fleet: ExplainedFleet): Blocker[] {
  const handling = fleet.processes.filter((process) => process.service === service && runs(process, type));
  const holders = handling.flatMap(({ isolated }) => isolated ?? []);
  if (holders.length === 0 || holders.length < handling.length) return [];
  return [
    {
      kind: 'crash-isolation',
      since: Math.min(...holders.map(({ since }) => since)),
      holders: holders.map(({ id, since }) => ({ id, since })),
      processes: handling.map(shownProcess),
    },
  ];
}

function runs({ events, workflows }: ProcessIntrospection, type: string): boolean {
  const workflow = workflowOf(type);
  return workflow === undefined ? events.includes(type) : workflows.includes(workflow);
}

function shownProcess({ id, host, active, slots }: ProcessIntrospection): NonNullable<Blocker['processes']>[number] {
  return { id, host, active, slots };
}

/** Events of one type in one service. */
interface Share extends Pick<EventRecord, 'type' | 'service'> {
  /** Run of one of them. */
  readonly run?: EventRecord['run'];
}

/** Returns what holds events whatever their limits: a pause, a lack of processes, or of those with their version. */
function heldByFleet({ type, service, run }: Share, fleet: ExplainedFleet): Blocker[] {
  const workflow = workflowOf(type);
  const pause = new PausedSubjects(fleet.pauses).find(workflow === undefined ? { type } : { workflow }, [service]);
  const isHandled = handlersOf({ type, service }, fleet).length > 0;
  const last = fleet.releases.findLast((release) => release.service === service);
  const version = run?.neededVersion;
  return [
    ...(pause === undefined ? [] : [{ kind: 'paused' as const, ...pause }]),
    ...(isHandled
      ? []
      : [
          {
            kind: 'no-process' as const,
            ...(last?.endedAt !== undefined && { since: last.endedAt }),
            ...(last !== undefined && { release: last.release }),
          },
        ]),
    ...(version === undefined || !isHandled ? [] : [{ kind: 'version' as const, version }]),
    ...isolationBy({ type, service }, fleet),
  ];
}

/** Returns the limits that hold events that wait for a slot. @param active events of the type that run in the service */
async function limitsOf(
  share: Share,
  fleet: ExplainedFleet,
  active: number,
  { lookup, kv }: ExplainParts,
): Promise<Blocker[]> {
  const { type, service } = share;
  const { newest } = await lookup.recent(type);
  const holders = newest
    .filter((event) => event.service === service && event.status === 'active')
    .map(({ id, attempts }) => {
      const since = attempts.at(-1)?.startedAt;
      return since === undefined ? { id } : { id, since };
    });
  const settings = settingsOf(share, fleet);
  const { concurrency, rate, hasKey = false } = settings ?? {};
  if (concurrency !== undefined && active >= concurrency) return [{ kind: 'concurrency', limit: concurrency, holders }];
  const own = fleet.processes.filter((process) => process.service === service);
  const busy = own.filter((process) => process.active >= process.slots);
  const hasShared = concurrency === undefined && rate === undefined;
  if (hasShared && own.length > 0 && busy.length === own.length) {
    return [
      {
        kind: 'process-slots',
        processes: busy.map(shownProcess),
      },
    ];
  }
  if (rate !== undefined && rate.perKey !== true) {
    return [{ kind: 'rate', limit: rate, until: (await kv.now()) + rate.perMs }];
  }
  const perKey = settings?.concurrencyPerKey ?? workflowSettingsOf(share, fleet)?.concurrencyPerKey;
  if (hasKey || perKey !== undefined) return [{ kind: 'key', ...(perKey !== undefined && { limit: perKey }), holders }];
  return [];
}

/** Returns the running hubs of a service that handle a type. */
function handlersOf({ type, service }: Share, { hubs }: ExplainedFleet): readonly HubDescription[] {
  return hubs.filter((hub) => isRunning(hub) && hub.service === service && handles(hub, type));
}

function settingsOf(share: Share, fleet: ExplainedFleet): EventDescription | undefined {
  return handlersOf(share, fleet).flatMap(({ events }) => events.filter((event) => event.type === share.type))[0];
}

function workflowSettingsOf(share: Share, fleet: ExplainedFleet): WorkflowDescription | undefined {
  const name = workflowOf(share.type);
  return handlersOf(share, fleet).flatMap(({ workflows }) => workflows.filter((workflow) => workflow.name === name))[0];
}

function handles({ events, workflows }: HubDescription, type: string): boolean {
  const workflow = workflowOf(type);
  if (workflow !== undefined) return workflows.some(({ name }) => name === workflow);
  return events.some((event) => event.type === type && event.kind !== 'declared');
}
