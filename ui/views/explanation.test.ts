import { expect, test } from 'vitest';
import type { Blocker } from '../../server/dashboard/protocol.js';
import { blockerText } from './explanation.js';

const now = new Date(2026, 0, 7, 12).getTime();
const minute = 60_000;

test.each<[string, Blocker]>([
  ['Waits until 12:03:00 (in 3 min)', { kind: 'delay', until: now + 3 * minute }],
  ['Step nap waits until 12:03:00 (in 3 min)', { kind: 'delay', step: 'nap', until: now + 3 * minute }],
  ['An attempt failed, the next one is due', { kind: 'retry' }],
  ['Step pay failed, its next attempt starts at 12:00:05 (in 5 s)', { kind: 'retry', step: 'pay', until: now + 5_000 }],
  [
    'Step scan waits for the event parcel.scanned for 2 min, until 13:00:00 (in 1 h) at the latest',
    {
      kind: 'wait-event',
      step: 'scan',
      eventType: 'parcel.scanned',
      since: now - 2 * minute,
      until: now + 60 * minute,
    },
  ],
  ['Step refund waits for an approval for 2 min', { kind: 'wait-approval', step: 'refund', since: now - 2 * minute }],
  ['Step label waits for its child run', { kind: 'child-run', step: 'label', runId: 'r' }],
  [
    'Paused by ada 2 min ago: bank is down',
    { kind: 'paused', by: 'ada', reason: 'bank is down', since: now - 2 * minute },
  ],
  ['No process of its service runs it', { kind: 'no-process' }],
  [
    'No process of its service runs it; the last one, of release v1, ended 2 min ago',
    { kind: 'no-process', release: 'v1', since: now - 2 * minute },
  ],
  ['No process has version 3 of the workflow', { kind: 'version', version: 3 }],
  ['Its only slot is taken', { kind: 'concurrency', limit: 1 }],
  ['All 5 slots of the type are taken', { kind: 'concurrency', limit: 5 }],
  ['Every process of its service is full', { kind: 'process-slots' }],
  [
    'The rate of 10 per 1 s is used up, the next start is at 12:00:01 (in 1 s) at the latest',
    { kind: 'rate', limit: { max: 10, perMs: 1_000 }, until: now + 1_000 },
  ],
  [
    'The limit vendor of 2 at once is used up, it asks again at 12:00:01 (in 1 s)',
    { kind: 'limit', limitName: 'vendor', limit: 2, until: now + 1_000 },
  ],
  ['Events of its key run before it, 1 at a time', { kind: 'key', limit: 1 }],
])('%s', (expected, blocker) => {
  expect(blockerText(blocker, now)).toBe(expected);
});
