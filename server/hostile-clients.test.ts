import { expect, it, onTestFinished } from 'vitest';
import { createHub } from './hub/create-hub.js';

const branch = (kind: number): object => ({
  type: 'object',
  required: ['kind', 'id'],
  properties: { kind: { const: kind }, id: { type: 'string' } },
});

/** Payloads that took seconds each, or the memory of the process. */
function attacks(): readonly (readonly [type: string, payload: unknown, options?: object])[] {
  let deep: unknown = 1;
  for (let level = 0; level < 4_000; level += 1) deep = [deep];
  return [
    ['union', Array.from({ length: 20_000 }, () => ({ kind: 99 }))],
    ['unique', Array.from({ length: 40_000 }, (_, index) => ({ i: index }))],
    ['tree', Array.from({ length: 60 }).reduce<unknown>((child) => ({ child }), { child: 1 })],
    ['plain', deep],
    ['plain', 'x'.repeat(5_000_000)],
    ['plain', null, { requestId: 'a\ud800' }],
    ['plain', null, { dedupeId: 'x'.repeat(100_000) }],
    [`unknown${Math.random()}`, null],
  ];
}

it('20 clients beside 2 hostile ones: no call fails, and none waits long', async () => {
  const hub = createHub();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  for (let index = 0; index < 5_000; index += 1) hub.event({ type: `type-${index}` });
  hub.event({ type: 'plain', handler: () => {} });
  hub.event({ type: 'union', schema: { items: { anyOf: Array.from({ length: 24 }, (_, kind) => branch(kind)) } } });
  hub.event({ type: 'unique', schema: { uniqueItems: true } });
  const child = { type: 'object', properties: { child: { $ref: '#' } } };
  hub.event({
    type: 'tree',
    schema: { anyOf: [child, { ...child, minProperties: 0 }, { ...child, maxProperties: 9 }] },
  });
  await hub.start();

  const all = attacks();
  let isOver = false;
  let attacked = 0;
  const hostile = async (): Promise<void> => {
    while (!isOver) {
      for (const [type, payload, options] of all) {
        await hub.emit(type, payload, options).catch(() => {});
        attacked += 1;
        await new Promise(setImmediate);
      }
    }
  };
  let longestMs = 0;
  const client = async (): Promise<void> => {
    for (let sent = 0; sent < 40; sent += 1) {
      const startedAt = performance.now();
      await new Promise(setImmediate);
      await hub.emit('plain', { sent });
      longestMs = Math.max(longestMs, performance.now() - startedAt);
    }
  };
  const attackers = [hostile(), hostile()];
  await Promise.all(Array.from({ length: 20 }, client));
  isOver = true;
  await Promise.all(attackers);
  expect(attacked).toBeGreaterThan(16);
  // About 100 ms on an idle machine, half of it once per schema; before, seconds to minutes.
  expect(longestMs).toBeLessThan(3_000);
});
