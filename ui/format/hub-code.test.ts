import { expect, test } from 'vitest';
import { approveCode, emitCode, replayCode, replayTypeCode } from './hub-code.js';

test.each([
  ['order.created', 'npx hubline replay --type order.created'],
  ["it's $(late)", `npx hubline replay --type 'it'\\''s $(late)'`],
])('on Redis a command replays %s', (type, command) => {
  expect(replayTypeCode(type, 3, 'redis')).toBe(command);
});

test('in memory a call in the process replays', () => {
  expect(replayTypeCode("it's", 3, 'memory')).toContain("hub.deadLetters('it\\'s', { limit: 3 })");
  expect(replayCode('4be0643f', 'memory')).toBe("await hub.replay('4be0643f');");
  expect(replayCode('4be0643f', 'redis')).toBe('npx hubline replay 4be0643f');
  expect(replayCode('4be0643f', 'sqlite')).toBe('npx hubline replay 4be0643f --file PATH');
});

test('an approval is a command on Redis and SQLite, and in memory a call in the process', () => {
  const approval = { runId: '4be0643f', step: 'turn 1 / refund', type: 'decided' };
  expect(approveCode(approval, 'redis')).toBe("npx hubline approve 4be0643f --step 'turn 1 / refund'");
  expect(approveCode(approval, 'sqlite')).toBe("npx hubline approve 4be0643f --step 'turn 1 / refund' --file PATH");
  expect(approveCode(approval, 'memory').split('\n')).toEqual([
    'const { waits } = await hub.waits();',
    "const wait = waits.find(({ id, step }) => id === '4be0643f' && step.name === 'turn 1 / refund');",
    "await hub.emit('decided', { approvalId: wait?.step.waitsFor?.event?.key, approved: true });",
  ]);
});

test('an event is emitted by a call in the process', () => {
  expect(emitCode("it's")).toBe("await hub.emit('it\\'s', { /* payload */ });");
});
