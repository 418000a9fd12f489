import { cpuMsSince } from './testing/cpu-time.fixture.js';

/** Parts of a hub and its dashboard that clients reach. */
export interface AttackedHub {
  event(config: { type: string; schema?: Readonly<Record<string, unknown>>; handler?: () => void }): unknown;
  emit(type: string, payload: unknown, options?: object): Promise<unknown>;
}

/** Waits of 20 clients beside 2 hostile ones. */
export interface Encounter {
  readonly attacks: number;
  /** Longest time from a client's call to its result, with the turn of the event loop before it. */
  readonly longestMs: number;
  /** Most processor time that the process spent in such a time, in milliseconds: unlike that, it ignores other processes. */
  readonly longestCpuMs: number;
}

const branch = (kind: number): object => ({
  type: 'object',
  required: ['kind', 'id'],
  properties: { kind: { const: kind }, id: { type: 'string' } },
});

/** Registers a number of types, and those whose schemas multiply the work of a check. */
export function registerTargets(hub: AttackedHub, types: number): void {
  for (let index = 0; index < types; index += 1) hub.event({ type: `type-${index}` });
  hub.event({ type: 'plain', handler: () => {} });
  hub.event({ type: 'union', schema: { items: { anyOf: Array.from({ length: 24 }, (_, kind) => branch(kind)) } } });
  hub.event({ type: 'unique', schema: { uniqueItems: true } });
  const child = { type: 'object', properties: { child: { $ref: '#' } } };
  hub.event({
    type: 'tree',
    schema: { anyOf: [child, { ...child, minProperties: 0 }, { ...child, maxProperties: 9 }] },
  });
}

/** Calls that took seconds each, failed those of others, or took the memory of the process. */
function attacksOn(hub: AttackedHub, request: (path: string) => Promise<unknown>): readonly (() => Promise<unknown>)[] {
  let deep: unknown = 1;
  for (let level = 0; level < 4_000; level += 1) deep = [deep];
  const union = Array.from({ length: 20_000 }, () => ({ kind: 99 }));
  const unique = Array.from({ length: 40_000 }, (_, index) => ({ i: index }));
  const tree = Array.from({ length: 60 }).reduce<unknown>((child) => ({ child }), { child: 1 });
  const polluting: unknown = JSON.parse('{"constructor":{"prototype":{"admin":true}}}');
  const large = 'x'.repeat(5_000_000);
  return [
    () => hub.emit('union', union),
    () => hub.emit('unique', unique),
    () => hub.emit('tree', tree),
    () => hub.emit('plain', deep),
    () => hub.emit('plain', large),
    () => hub.emit('plain', polluting),
    () => hub.emit('plain', null, { requestId: 'a\ud800' }),
    () => hub.emit('plain', null, { dedupeId: 'a\ud800' }),
    () => hub.emit('plain', null, { dedupeId: 'x'.repeat(100_000) }),
    () => hub.emit(`unknown${Math.random()}`, null),
    () => request(`/api/events/unknown${Math.random()}`),
    () => request('/api/introspection?events=columns'),
    () => request('/api/introspection?id=%ud800'),
  ];
}

/**
 * Emits as 20 well-behaved clients do, while 2 hostile ones repeat every attack.
 *
 * @throws if a call of a well-behaved client fails
 */
export async function emitBesideAttackers(
  hub: AttackedHub,
  request: (path: string) => Promise<unknown>,
  emitsPerClient: number,
): Promise<Encounter> {
  const all = attacksOn(hub, request);
  let isOver = false;
  let attacks = 0;
  const hostile = async (): Promise<void> => {
    do {
      for (const attack of all) {
        await attack().catch(() => {});
        attacks += 1;
        await new Promise(setImmediate);
      }
    } while (!isOver);
  };
  let longestMs = 0;
  let longestCpuMs = 0;
  const client = async (): Promise<void> => {
    for (let sent = 0; sent < emitsPerClient; sent += 1) {
      const startedAt = performance.now();
      const usedBefore = process.cpuUsage();
      await new Promise(setImmediate);
      await hub.emit('plain', { sent });
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      longestCpuMs = Math.max(longestCpuMs, cpuMsSince(usedBefore));
    }
  };
  const attackers = [hostile(), hostile()];
  try {
    await Promise.all(Array.from({ length: 20 }, client));
  } finally {
    isOver = true;
    await Promise.all(attackers);
  }
  return { attacks, longestMs, longestCpuMs };
}
