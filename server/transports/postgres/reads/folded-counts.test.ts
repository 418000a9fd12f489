import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { isFuzzing } from '../../../../scripts/property-tests.js';
import { contractStage } from '../../contract/contract-stage.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
// No heartbeat, and so no upkeep that takes the minutes.
const { consume } = contractStage(() => harness({ lockDurationMs: 600_000 }));

const sessions = await Promise.all([0, 1, 2].map(() => admin.connect()));
afterAll(() => {
  for (const session of sessions) session.release();
});

const queue = "(SELECT id FROM hubline.queues WHERE type = 'a')";
const count = `SELECT hubline.count_all(60000, array_fill(${queue}, ARRAY[$1::int]), array_fill('r'::text, ARRAY[$1::int]),
  array_fill(0::float8, ARRAY[$1::int]))`;
const read = `SELECT (SELECT coalesce(sum(received), 0)::int FROM hubline.all_counters WHERE queue = ${queue}) AS received,
  (SELECT coalesce(sum(count), 0)::int FROM hubline.all_minutes WHERE name = 'r') AS minutes`;
const steps = ['count', 'fold', 'savepoint', 'rollback to', 'commit', 'rollback'] as const;

async function empty(): Promise<void> {
  await admin.query('DELETE FROM hubline.counters; DELETE FROM hubline.minutes; DELETE FROM hubline.counted');
}

test(
  'counts are those of all that has committed, whatever was under way when others were added',
  async () => {
    await consume(['a']);
    const anyStep = fc.tuple(fc.nat(sessions.length - 1), fc.constantFrom(...steps), fc.integer({ min: 1, max: 5 }));
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 30 }), async (taken) => {
        await empty();
        let committed = 0;
        const own = sessions.map(() => ({ counted: 0, saved: undefined as number | undefined }));
        for (const session of sessions) await session.query('BEGIN');
        const end = async (index: number, how: 'commit' | 'rollback'): Promise<void> => {
          await sessions[index]?.query(`${how}; BEGIN`);
          if (how === 'commit') committed += own[index]?.counted ?? 0;
          own[index] = { counted: 0, saved: undefined };
        };
        for (const [index, step, n] of taken) {
          const [session, state] = [sessions[index], own[index]];
          if (session === undefined || state === undefined) continue;
          if (step === 'count') {
            await session.query(count, [n]);
            state.counted += n;
          } else if (step === 'fold') await session.query('SELECT hubline.fold_counts()');
          else if (step === 'savepoint') {
            await session.query('SAVEPOINT s');
            state.saved = state.counted;
          } else if (step === 'rollback to') {
            if (state.saved === undefined) continue;
            await session.query('ROLLBACK TO s');
            state.counted = state.saved;
          } else await end(index, step);
          const { rows } = await admin.query(read);
          expect(rows[0]).toEqual({ received: committed, minutes: committed });
        }
        for (const index of sessions.keys()) await end(index, 'commit');
        for (const session of sessions) await session.query('COMMIT');
        await admin.query('SELECT hubline.fold_counts()');
        const { rows } = await admin.query(`${read.replaceAll('all_', '')}`);
        expect(rows[0]).toEqual({ received: committed, minutes: committed });
        expect((await admin.query('SELECT FROM hubline.counted')).rows).toEqual([]);
      }),
      { numRuns: isFuzzing ? 100_000 : 150 },
    );
  },
  isFuzzing ? 60_000 : 30_000,
);

const transaction = async (): Promise<number> => {
  const { rows } = await admin.query('SELECT pg_current_xact_id()::text AS id');
  return Number(rows[0]?.id);
};

test.each([
  ['much', 9_000_000_000],
  ['slightly', 30],
])('tables that were copied to a server whose transactions have %s lower numbers count on', async (_, ahead) => {
  await consume(['a']);
  await empty();
  const next = (await transaction()) + ahead;
  await admin.query(`DELETE FROM hubline.folded; INSERT INTO hubline.folded VALUES (1, '${next}', '{}')`);
  await admin.query(count, [1]);
  // A process starts.
  await consume(['a']);
  await admin.query(count, [2]);
  await admin.query(`INSERT INTO hubline.counted VALUES ('9000000007', 60000, ARRAY[${queue}], '{r}', '{0}')`);
  for (let n = 0; n < 60; n += 1) await transaction();
  const { rows } = await admin.query(read);
  expect(rows[0]).toEqual({ received: 4, minutes: 4 });
  await admin.query('SELECT hubline.fold_counts()');
  await admin.query(count, [2]);
  expect((await admin.query(read)).rows[0]).toEqual({ received: 6, minutes: 6 });
});

test('an amount that is no number of milliseconds stops no fold', async () => {
  await consume(['a']);
  await empty();
  await admin.query(
    `SELECT hubline.count_all(60000, ARRAY[${queue}, ${queue}, ${queue}], '{e,e,d}', '{Infinity,NaN,NULL}')`,
  );
  await admin.query('SELECT hubline.fold_counts()');
  const { rows } = await admin.query("SELECT sum(count)::int AS n FROM hubline.minutes WHERE name = 'd'");
  expect(rows).toEqual([{ n: 3 }]);
});
