import type { ErrorInfo } from '../../../errors.js';
import { errorOf } from '../../errors.js';
import type { DeadLetterFilter } from '../../event-record.js';
import type { KeyValueStore } from '../../key-value-store.js';
import type { Broker } from '../../memory/broker.js';
import type { BrokerManager } from '../../memory/memory-transport.js';
import { retireService } from '../../memory/retire-service.js';
import type { RetireOptions } from '../../retirement.js';
import type { Envelope, FailedOutcome, Outcome, OverviewQuery } from '../../transport.js';

/** State that calls of one service read and change. */
export interface CallTarget {
  readonly broker: Broker;
  readonly manager: BrokerManager;
  readonly kv: KeyValueStore;
  /** Returns the descriptions of the hubs on the file. */
  readonly descriptions: () => readonly string[];
}

/** Operations that another process can call. */
export const callMethods = {
  counts: ({ manager }: CallTarget, types: readonly string[]) => manager.counts(types),
  metrics: ({ manager }: CallTarget, type: string) => manager.metrics(type),
  range: ({ manager }: CallTarget, types: readonly string[], from: number, to: number) =>
    manager.range(types, from, to),
  durations: ({ manager }: CallTarget, types: readonly string[]) => manager.durations(types),
  failures: ({ manager }: CallTarget, type: string) => manager.failures(type),
  recent: ({ manager }: CallTarget, type: string) => manager.recent(type),
  find: ({ manager }: CallTarget, id: string, bodies: boolean) => manager.find(id, { bodies }),
  request: ({ manager }: CallTarget, requestId: string) => manager.request(requestId),
  deadLetters: ({ manager }: CallTarget, type: string, limit: number, filter: DeadLetterFilter) =>
    manager.deadLetters(type, limit, filter),
  overview: async ({ manager, descriptions }: CallTarget, query: OverviewQuery) => ({
    ...(await manager.overview(query)),
    registered: descriptions(),
  }),
  waiting: ({ manager }: CallTarget, types: readonly string[], limit: number) => manager.waiting(types, limit),
  run: ({ manager }: CallTarget, type: string, id: string) => manager.run(type, id),
  runSince: ({ manager }: CallTarget, type: string, id: string, from: number) => manager.runSince(type, id, from),
  schedules: ({ manager }: CallTarget) => manager.schedules(),
  registered: async ({ descriptions }: CallTarget) => descriptions(),
  revision: ({ manager }: CallTarget, type?: string) => manager.revision(type),
  keyValue: ({ kv }: CallTarget, key: string) => kv.get(key),
  keyRange: ({ kv }: CallTarget, key: string, from: number, to: number) => kv.range(key, from, to),
  /** Returns an event that `cancel` would end. */
  cancellable: async ({ broker, manager }: CallTarget, id: string): Promise<Envelope | undefined> =>
    broker.group(manager.service).findCancellable(id)?.envelope,
  cancel: ({ manager }: CallTarget, id: string, outcome: FailedOutcome) => manager.cancel(id, () => outcome),
  endRun: ({ manager }: CallTarget, type: string, id: string, outcome: Outcome, reason: ErrorInfo) =>
    manager.endRun(type, id, outcome, errorOf(reason)),
  replay: ({ manager }: CallTarget, id: string) => manager.replay(id),
  erase: ({ manager }: CallTarget, requestId: string) => manager.erase(requestId),
  retire: ({ broker, manager }: CallTarget, options: RetireOptions) => retireService(broker, manager.service, options),
};

export type MethodName = keyof typeof callMethods;

/** Arguments of an operation. */
export type MethodArguments<N extends MethodName> =
  Parameters<(typeof callMethods)[N]> extends [CallTarget, ...infer Rest] ? Rest : never;

/** Result of an operation. */
export type MethodResult<N extends MethodName> = Awaited<ReturnType<(typeof callMethods)[N]>>;

const changes: ReadonlySet<string> = new Set<MethodName>(['cancel', 'endRun', 'replay', 'erase', 'retire']);

/** The operation changes the state, so that it must not be repeated. */
export function isChange(method: string): boolean {
  return changes.has(method);
}

/** Executes an operation. */
export function executeCall(target: CallTarget, method: string, args: readonly unknown[]): Promise<unknown> {
  if (!Object.hasOwn(callMethods, method)) throw new TypeError('the operation does not exist');
  // The schema version of the file states that this package wrote the call, with the arguments of the operation.
  const operation = callMethods[method as MethodName] as (target: CallTarget, ...args: never[]) => Promise<unknown>;
  return operation(target, ...(args as never[]));
}
