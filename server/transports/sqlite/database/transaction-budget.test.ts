import { expect, it } from 'vitest';
import { TransactionBudget } from './committer.js';

/** Fills a transaction. Returns the number of its changes. @param msPerRow time that the disk needs */
function fill(stage: { at: number; budget: TransactionBudget }, rowsPerChange: number, msPerRow: number): number {
  const { budget } = stage;
  budget.begin();
  let changes = 0;
  while (budget.hasRoom(changes, changes * rowsPerChange)) {
    changes += 1;
    stage.at += 0.002;
  }
  budget.beginWrite();
  stage.at += changes * rowsPerChange * msPerRow;
  budget.endWrite(changes * rowsPerChange);
  return changes;
}

function createStage(): { at: number; budget: TransactionBudget } {
  const stage: { at: number; budget: TransactionBudget } = { at: 0, budget: new TransactionBudget(() => stage.at) };
  return stage;
}

it.each([
  ['small rows are limited in number', 1, 0.005, 256],
  ['slow rows', 1, 0.05, 39],
  ['large rows', 10, 0.02, 10],
  ['very slow rows have a share that keeps the machine from work', 1, 1, 16],
  ['rows of half a megabyte', 64, 0.02, 2],
])('%s', (_, rowsPerChange, msPerRow, changes) => {
  const stage = createStage();
  for (let count = 0; count < 200; count += 1) fill(stage, rowsPerChange, msPerRow);
  expect(fill(stage, rowsPerChange, msPerRow)).toBe(changes);
});

it('recovers from a pause of the thread', () => {
  const stage = createStage();
  for (let count = 0; count < 200; count += 1) fill(stage, 1, 0.005);
  fill(stage, 1, 10);
  expect(stage.budget.wasLong).toBe(true);
  expect(fill(stage, 1, 0.005)).toBeGreaterThan(200);
  stage.budget.begin();
  stage.budget.beginWrite();
  stage.budget.endWrite(0);
  expect(stage.budget.wasLong).toBe(false);
});
