import type { ErrorInfo } from '../../../errors.js';
import { errorOf } from '../../errors.js';
import type { KeyValueStore } from '../../key-values/key-value-store.js';
import type { Broker } from '../../memory/broker.js';
import type { BrokerManager } from '../../memory/memory-transport.js';
import { retireService } from '../../memory/retire-service.js';
import type { Retirement, RetireOptions } from '../../retirement.js';
import type { CommitResult, Envelope, FailedOutcome, Outcome, TransportManager } from '../../transport.js';

/** State that calls of one service read and change. */
export interface CallTarget {
  readonly broker: Broker;
  readonly manager: BrokerManager;
  readonly kv: KeyValueStore;
  /** Returns the descriptions of the hubs on the file. */
  readonly descriptions: () => readonly string[];
}

/** Operations that another process can call. */
interface CallMethods
  extends Pick<
    TransportManager,
    | 'publish'
    | 'counts'
    | 'metrics'
    | 'range'
    | 'durations'
    | 'failures'
    | 'recent'
    | 'find'
    | 'request'
    | 'deadLetters'
    | 'overview'
    | 'waiting'
    | 'run'
    | 'runSince'
    | 'schedules'
    | 'registered'
    | 'processes'
    | 'revision'
    | 'replay'
    | 'erase'
  > {
  keyValue: KeyValueStore['get'];
  keyRange: KeyValueStore['range'];
  /** Returns an event that `cancel` would end. */
  cancellable(id: string): Promise<Envelope | undefined>;
  cancel(id: string, outcome: FailedOutcome): Promise<boolean>;
  endRun(type: string, id: string, outcome: Outcome, reason: ErrorInfo): Promise<CommitResult>;
  retire(options: RetireOptions): Promise<Retirement>;
}

export type MethodName = keyof CallMethods;

/** Arguments of an operation. */
export type MethodArguments<N extends MethodName> = Parameters<CallMethods[N]>;

/** Result of an operation. */
export type MethodResult<N extends MethodName> = Awaited<ReturnType<CallMethods[N]>>;

const methods: {
  readonly [N in MethodName]: (target: CallTarget, ...args: MethodArguments<N>) => Promise<MethodResult<N>>;
} = {
  publish: async ({ manager }, envelopes) => manager.publish(envelopes),
  counts: ({ manager }, types) => manager.counts(types),
  metrics: ({ manager }, type) => manager.metrics(type),
  range: ({ manager }, types, from, to) => manager.range(types, from, to),
  durations: ({ manager }, types) => manager.durations(types),
  failures: ({ manager }, type) => manager.failures(type),
  recent: ({ manager }, type) => manager.recent(type),
  find: ({ manager }, id, options) => manager.find(id, options),
  request: ({ manager }, requestId) => manager.request(requestId),
  deadLetters: ({ manager }, type, limit, filter) => manager.deadLetters(type, limit, filter),
  overview: async ({ manager, descriptions }, query) => ({
    ...(await manager.overview(query)),
    registered: descriptions(),
  }),
  waiting: ({ manager }, types, limit) => manager.waiting(types, limit),
  run: ({ manager }, type, id) => manager.run(type, id),
  runSince: ({ manager }, type, id, from) => manager.runSince(type, id, from),
  schedules: ({ manager }) => manager.schedules(),
  registered: async ({ descriptions }) => descriptions(),
  processes: ({ manager }) => manager.processes(),
  revision: ({ manager }, type) => manager.revision(type),
  keyValue: ({ kv }, key) => kv.get(key),
  keyRange: ({ kv }, key, from, to) => kv.range(key, from, to),
  cancellable: async ({ broker, manager }, id) => broker.group(manager.service).findCancellable(id)?.envelope,
  cancel: ({ manager }, id, outcome) => manager.cancel(id, () => outcome),
  endRun: ({ manager }, type, id, outcome, reason) => manager.endRun(type, id, outcome, errorOf(reason)),
  replay: ({ manager }, id) => manager.replay(id),
  erase: ({ manager }, requestId) => manager.erase(requestId),
  retire: ({ broker, manager }, options) => retireService(broker, manager.service, options),
};

const changes: ReadonlySet<string> = new Set<MethodName>(['publish', 'cancel', 'endRun', 'replay', 'erase', 'retire']);

/** The operation changes the state, so that it must not be repeated. */
export function isChange(method: string): boolean {
  return changes.has(method);
}

/** Executes an operation. */
export function executeCall(target: CallTarget, method: string, args: readonly unknown[]): Promise<unknown> {
  if (!Object.hasOwn(methods, method)) throw new TypeError('the operation does not exist');
  // The schema version of the file states that this package wrote the call, with the arguments of the operation.
  const operation = methods[method as MethodName] as (target: CallTarget, ...args: never[]) => Promise<unknown>;
  return operation(target, ...(args as never[]));
}
