import { expect, it } from 'vitest';
import { argumentBatches } from '../connection/script-limits.js';
import { type LeaseCall, LeaseTurn } from './lease-recorder.js';

/** Returns a turn, its calls, and a function that replies to the first call without a reply. */
function setUp() {
  const calls: string[] = [];
  const open: { readonly call: LeaseCall; resolve(reply: unknown): void; reject(error: Error): void }[] = [];
  const turn = new LeaseTurn((call) => {
    const outcomes = call.outcomes.map(({ args }) => String(args[0]).slice(0, 5));
    calls.push(`${outcomes.join()} > ${call.queue} ${call.tokens.join()}`.trim());
    return new Promise((resolve, reject) => {
      open.push({ call, resolve, reject });
    });
  });
  const reply = (error?: Error): void => {
    const { call, resolve, reject } = open.shift() ?? {};
    if (error !== undefined) reject?.(error);
    else resolve?.([call?.outcomes.map(() => 'ok'), [call?.tokens.map((id) => [id, 'a', '{}', 1, 1, 0, 0]), null]]);
  };
  const commit = (...ids: readonly string[]) => ids.map((id) => turn.commit({ args: [id] }));
  const fetch = async (queue: string, token: string) => (await turn.fetch(queue, token)).job?.id;
  return { turn, calls, reply, commit, fetch };
}

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

it('sends the outcomes of a turn with the fetches that follow, in halves unless a call is under way', async () => {
  const { calls, reply, commit, fetch } = setUp();
  const fetched = ['1', '2', '3', '4'].map((token) => fetch('q', token));
  const results = commit('a', 'b', 'c');
  await endOfTurn();
  expect(calls.splice(0)).toEqual(['a,b > q 1,2', 'c > q 3,4']);
  reply();
  expect(await Promise.all([...results.slice(0, 2), ...fetched.slice(0, 2)])).toEqual(['ok', 'ok', '1', '2']);
  commit('d', 'e');
  const next = fetch('q', '5');
  await endOfTurn();
  expect(calls).toEqual(['d,e > q 5']);
  reply();
  reply();
  expect(await Promise.all([results[2], fetched[3], next])).toEqual(['ok', '4', '5']);
});

it('fetches from one queue per call, and not before the outcomes of the turn', async () => {
  const { calls, commit, fetch } = setUp();
  for (const [token, queue] of ['q', 'r', 'q', 'q', 'q'].entries()) void fetch(queue, String(token));
  commit('a', 'b');
  await endOfTurn();
  expect(calls).toEqual(['a,b > q 0,2', '> q 3,4', '> r 1']);
});

it('sends a long outcome alone', async () => {
  const { calls, commit } = setUp();
  commit('first', 'x'.repeat(argumentBatches.maxWeight), 'third', 'fourth', 'fifth', 'sixth');
  await endOfTurn();
  expect(calls).toEqual(['first >', 'xxxxx >', 'third,fourt,fifth >', 'sixth >']);
});

it('repeats a call that fails in two, so that the fetches do not wait for the outcomes', async () => {
  const { calls, reply, commit, fetch } = setUp();
  const results = Promise.allSettled([...commit('a'), fetch('q', '1')]);
  await endOfTurn();
  reply(new Error('first'));
  await endOfTurn();
  expect(calls).toEqual(['a > q 1', 'a >', '> q 1']);
  reply(new Error('second'));
  reply();
  expect(await results).toEqual([
    { status: 'rejected', reason: new Error('second') },
    { status: 'fulfilled', value: '1' },
  ]);
});

it('rejects outcomes and fetches whose replies cannot be read, and no others', async () => {
  const replies = [[['ok'], new Error('no turn')], [['?'], [[], 7]], 'no array', 'no array', 'no array'];
  const turn = new LeaseTurn(async () => replies.shift());
  const send = () => Promise.allSettled([turn.commit({ args: [] }), turn.fetch('q', '1')]);
  const unread = { status: 'rejected', reason: { code: 'ERR_UNEXPECTED_DATA' } };
  expect(await send()).toMatchObject([{ value: 'ok' }, { status: 'rejected', reason: new Error('no turn') }]);
  expect(await send()).toMatchObject([unread, { value: { job: undefined, dueInMs: 7 } }]);
  expect(await send()).toMatchObject([unread, unread]);
});
