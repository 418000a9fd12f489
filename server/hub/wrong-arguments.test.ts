import { expect, it, onTestFinished, vi } from 'vitest';
import { HubError } from '../errors.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { createHub } from './create-hub.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';

const circular: Record<string, unknown> = {};
circular['self'] = circular;
const fails = (): never => {
  throw new Error('unreadable');
};

/** Values that are wrong for most arguments. Callers without types pass all of them. */
const wrongValues: readonly unknown[] = [
  ...[undefined, null, true, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e308, 10n, Symbol('s')],
  ...['', '\0', '\ud800', 'x'.repeat(513), 'x'.repeat(600_000), '__proto__', 'constructor', 'unknown'],
  ...[[], [1], {}, { type: null }, { name: 1 }, circular, new Map(), new Date(Number.NaN), Object.create(null)],
  ...[() => 1, () => Promise.reject(new Error('late')), { toString: fails }, { toJSON: fails }],
];

type Call = (hub: Hub, value: never) => unknown;
const cause = { eventId: 'e', requestId: 'r', depth: 0 };

/** Every function of a running hub, and every option of each. */
const calls: Readonly<Record<string, Call>> = {
  'the type of emit': (hub, value) => hub.emit(value, 1),
  'the payload of emit': (hub, value) => hub.emit('noted', value),
  'the key of emit': (hub, value) => hub.emit('keyed', value),
  'the options of emit': (hub, value) => hub.emit('noted', 1, value),
  ...optionsOf('emit', ['requestId', 'delayMs', 'dedupeId', 'priority', 'cause', 'other'], (hub, options) =>
    hub.emit('noted', 1, options),
  ),
  ...optionsOf('cause', ['eventId', 'requestId', 'depth'], (hub, option) =>
    hub.emit('noted', 1, { cause: Object.assign({}, cause, option) }),
  ),
  'the options of cancel': (hub, value) => hub.cancel('e-1', value),
  ...optionsOf('replay', ['service', 'by', 'reason', 'via'], (hub, options) => hub.replay('e-1', options)),
  ...optionsOf('decide', ['approved', 'step', 'by', 'reason', 'via'], (hub, options) => hub.decide('e-1', options)),
  ...optionsOf('audit', ['limit'], (hub, options) => hub.audit(options)),
  'the type of emitMany': (hub, value) => hub.emitMany(value, [1]),
  'the payloads of emitMany': (hub, value) => hub.emitMany('noted', value),
  'the options of emitMany': (hub, value) => hub.emitMany('noted', [1], value),
  ...optionsOf('emitMany', ['requestId', 'delayMs', 'dedupeId', 'priority', 'cause'], (hub, options) =>
    hub.emitMany('noted', [1, 2], options),
  ),
  'the result of dedupeId': (hub, value) => hub.emitMany('noted', [1], { dedupeId: () => value }),
  'a dedupeId that rejects': (hub) => hub.emitMany('noted', [1], { dedupeId: rejects }),
  'a key that rejects': (hub) => hub.emit('async key', 1),
  'a payload that rejects': (hub) => hub.emit('noted', { later: rejects() }),
  'the name of startWorkflow': (hub, value) => hub.startWorkflow(value, 1),
  'the input of startWorkflow': (hub, value) => hub.startWorkflow('copy', value),
  'the options of startWorkflow': (hub, value) => hub.startWorkflow('copy', 1, value),
  ...optionsOf('startWorkflow', ['requestId', 'delayMs', 'dedupeId', 'priority', 'cause'], (hub, options) =>
    hub.startWorkflow('copy', 1, options),
  ),
  'the id of cancel': (hub, value) => hub.cancel(value),
  'the id of replay': (hub, value) => hub.replay(value),
  'the id of find': (hub, value) => hub.find(value),
  'the options of find': (hub, value) => hub.find('e', value),
  'the id of getRequest': (hub, value) => hub.getRequest(value),
  'the argument of erase': (hub, value) => hub.erase(value),
  'the request of erase': (hub, value) => hub.erase({ requestId: value }),
  'the type of metrics': (hub, value) => hub.metrics(value),
  'the type of failures': (hub, value) => hub.failures(value),
  'the type of describe': (hub, value) => hub.describe(value),
  'the type of revision': (hub, value) => hub.revision(value),
  'the source of deadLetters': (hub, value) => hub.deadLetters(value),
  'the options of deadLetters': (hub, value) => hub.deadLetters('noted', value),
  ...optionsOf('deadLetters', ['limit', 'requestId', 'since'], (hub, options) => hub.deadLetters('noted', options)),
  'the source of getRecent': (hub, value) => hub.getRecent(value),
  'the run of send': (hub, value) => hub.send(value, 'x'),
  'the text of send': (hub, value) => hub.send('r', value),
  ...optionsOf('send', ['id', 'service'], (hub, options) => hub.send('r', 'x', options)),
  'the options of spend': (hub, value) => hub.spend(value),
  'the agent of agentRuns': (hub, value) => hub.agentRuns(value),
  'the workflow of workflowRuns': (hub, value) => hub.workflowRuns(value),
  'the start of range': (hub, value) => hub.getRange(value, Date.now()),
  'the end of range': (hub, value) => hub.getRange(0, value),
  'the name of workflowHandle': (hub, value) => hub.workflowHandle(value, 'r'),
  'the id of workflowHandle': (hub, value) => hub.workflowHandle('copy', value),
  'the name of getRun': (hub, value) => hub.getRun(value, 'r'),
  'the id of getRun': (hub, value) => hub.getRun('copy', value),
  'the options of getRun': (hub, value) => hub.getRun('copy', 'r', value),
  'the id of watch': (hub, value) => firstOf(hub.watch(value)),
  'the options of watch': (hub, value) => firstOf(hub.watch('r', value)),
  'the key of get': (hub, value) => hub.transport.kv.get(value),
  'the value of set': (hub, value) => hub.transport.kv.set('set', value),
  ...optionsOf('set', ['ttlMs', 'ifAbsent'], (hub, options) => hub.transport.kv.set('set', 'v', options)),
  'the step of increment': (hub, value) => hub.transport.kv.increment('number', value),
  'the lifetime of increment': (hub, value) => hub.transport.kv.increment('number', 1, value),
  'the values of append': (hub, value) => hub.transport.kv.append('list', value),
  ...optionsOf('append', ['keepLast', 'ttlMs'], (hub, options) => hub.transport.kv.append('list', ['v'], options)),
  'the start of a range of values': (hub, value) => hub.transport.kv.range('list', value, 1),
  'the reason of cancel': async (hub, value) => (await hub.startWorkflow('sleeping', 1)).cancel(value),
};

function optionsOf(owner: string, names: readonly string[], call: (hub: Hub, options: never) => unknown) {
  return Object.fromEntries(
    names.map((name): [string, Call] => [`${name} of ${owner}`, (hub, value) => call(hub, { [name]: value } as never)]),
  );
}

async function firstOf(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events) return;
}

function rejects(): never {
  return Promise.reject(new Error('late')) as never;
}

it('a wrong payload of a schedule is refused at registration', () => {
  const unusable = [undefined, Number.NaN, 10n, Symbol('s'), circular, new Map(), { toJSON: fails }];
  for (const payload of unusable) {
    const schedule = () => createHub().schedule({ name: 'often', everyMs: 1_000, emit: 'a', payload });
    expect(schedule).toThrow(HubError);
  }
});

it('wrong arguments fail a step, with an error of the hub', async () => {
  const hub = createHub();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const wrongTimes = wrongValues.filter((value) => !Number.isFinite(value));
  const workflow = createWorkflow({
    name: 'wrong',
    async run({ step }) {
      const results = await Promise.allSettled(
        wrongTimes.flatMap((time) => [
          step.sleepUntil('until', time as never),
          step.sleep('for', time as never),
          step.waitForEvent('event', 'a', { timeoutMs: Object(time) as never }),
          step.run('options', () => 1, { timeoutMs: Object(time) as never }),
        ]),
      );
      return results.every((result) => result.status === 'rejected' && HubError.is(result.reason));
    },
  });
  hub.workflow(workflow);
  hub.event({ type: 'a' });
  await hub.start();
  expect(await (await hub.startWorkflow(workflow, null)).result()).toBe(true);
});

it.each(everyTransport)('wrong arguments on %s fail the call alone, with an error of the hub', async (_, open) => {
  const hub = createHub({ transport: open() });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  hub.event({ type: 'noted' });
  hub.event({ type: 'counted', handler: () => {} });
  hub.event({ type: 'keyed', key: (payload: never) => payload, handler: () => {} });
  hub.event({ type: 'async key', key: rejects, handler: () => {} });
  hub.workflow(createWorkflow({ name: 'copy', run: ({ input }) => input }));
  hub.workflow(createWorkflow({ name: 'sleeping', run: ({ step }) => step.sleep('night', 1e9) }));
  await hub.start();
  for (const [name, call] of Object.entries(calls)) {
    const errors: unknown[] = [];
    const pending = wrongValues.map(async (value) => {
      try {
        await call(hub, value as never);
      } catch (error) {
        errors.push(error);
      }
    });
    // What another caller sends at the same time shares its batch.
    await Promise.all([...pending, hub.emit('counted', 1)]);
    expect(
      errors.filter((error) => !HubError.is(error)),
      name,
    ).toEqual([]);
    expect(errors.length, name).toBeGreaterThan(0);
  }
  const received = Object.keys(calls).length;
  await vi.waitFor(
    async () => expect(await hub.metrics('counted')).toMatchObject({ received, completed: received, pending: 0 }),
    { interval: 5 },
  );
});
