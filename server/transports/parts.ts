import type { TransportManager } from './transport.js';

/** Parts of a transport by name. */
export type TransportParts = Omit<
  TransportManager,
  'name' | 'service' | 'clock' | 'codec' | 'start' | 'pause' | 'nextTurn' | 'publish' | 'publishWithin' | 'close'
>;

/** Name of a part of a transport. */
export type PartName = keyof TransportParts;

/**
 * Effect of a call: `read` changes nothing, so that it can be repeated. A `local` call takes a function, a signal or an
 * error, which cannot leave the process.
 */
export type CallEffect = 'read' | 'change' | 'local';

/** All methods of all parts. Connections that forward calls are created from it. */
const partMethods: { readonly [P in PartName]: { readonly [M in keyof TransportParts[P]]: CallEffect } } = {
  counts: { get: 'read', metrics: 'read', range: 'read', durations: 'read', failures: 'read', revision: 'read' },
  lookup: {
    recent: 'read',
    runs: 'read',
    find: 'read',
    kept: 'read',
    request: 'read',
    overview: 'read',
    deadLetterErrors: 'read',
    erase: 'change',
  },
  deadLetters: { list: 'read', replay: 'change' },
  runs: {
    get: 'read',
    getSince: 'read',
    waiting: 'read',
    watch: 'local',
    ended: 'local',
    end: 'local',
    cancel: 'local',
  },
  fleet: { registered: 'read', processes: 'read' },
  schedules: {
    list: 'read',
    open: 'change',
    claim: 'change',
    put: 'change',
    get: 'read',
    page: 'read',
    remove: 'change',
    take: 'change',
    watch: 'local',
  },
  kv: {
    get: 'read',
    range: 'read',
    set: 'change',
    compareAndSet: 'change',
    delete: 'change',
    increment: 'change',
    append: 'change',
    now: 'read',
  },
  log: { read: 'read', append: 'change', delete: 'change', watch: 'local' },
};

/** Call of a method of a part. */
export interface PartCall {
  readonly part: PartName;
  readonly method: string;
  readonly effect: CallEffect;
}

/** Creates the parts of a connection that passes each call on. @param forward returns what the method returns */
export function forwardParts(forward: (call: PartCall, args: readonly unknown[]) => Promise<unknown>): TransportParts {
  const parts = Object.entries(partMethods).map(([part, methods]) => {
    const forwarded = Object.entries(methods).map(([method, effect]) => {
      const call = { part: part as PartName, method, effect }; // `Object.entries` widens the keys
      return [method, (...args: readonly unknown[]) => forward(call, args)];
    });
    return [part, Object.fromEntries(forwarded)];
  });
  // The compiler checks that the table has every method of every part.
  return Object.fromEntries(parts) as TransportParts;
}

/** Returns the call of a method; `undefined` if no part has it. */
export function findCall(part: string, method: string): PartCall | undefined {
  if (!Object.hasOwn(partMethods, part)) return undefined;
  const methods: Readonly<Record<string, CallEffect>> = partMethods[part as PartName]; // an own key of the table
  const effect = Object.hasOwn(methods, method) ? methods[method] : undefined;
  return effect && { part: part as PartName, method, effect };
}

/** Calls a method of a part with the arguments that it takes. */
export function callPart(
  parts: TransportParts,
  { part, method }: PartCall,
  args: readonly unknown[],
): Promise<unknown> {
  // The call is of the table, and its arguments are those of the caller of the same method.
  const methods = parts[part] as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>;
  const call = methods[method];
  return call === undefined
    ? Promise.reject(new TypeError(`${part}.${method} is no function`))
    : call.apply(methods, [...args]);
}
