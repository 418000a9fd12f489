import { screen, within } from '@testing-library/preact';
import { expect, test } from 'vitest';
import type { RunningHub } from '../api/decode-views.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { SERVER_NOW } from '../testing/test-data.js';

function hubOf(id: string, service: string, host: string, pid: number): RunningHub {
  const state = { version: '0.1.0', startedAt: SERVER_NOW, active: 1, slots: 10, heapBytes: pid * 1_048_576 };
  return { id, service, host, pid, ...state, loopBusy: 0.95, handles: 0 };
}

test('the hubs of a process follow each other, and share its heap and its load', async () => {
  const api = createFakeApi([]);
  const processes = [
    hubOf('a', 'mail', 'worker-1', 7),
    hubOf('b', 'shop', 'worker-2', 7),
    hubOf('c', 'shop', 'worker-1', 7),
    hubOf('d', 'shop', 'worker-1', 8),
  ];
  api.processes = async () => {
    return { now: SERVER_NOW, processes, processCount: 4, registrations: [{ events: [], workflows: [] }] };
  };
  await openPage(api, '#/processes');
  expect(screen.getByRole('heading', { name: 'Running processes 4 hubs in 3 processes' })).toBeTruthy();
  const table = within(screen.getByRole('table', { name: 'Running processes, by service' }));
  expect(table.getAllByRole('rowheader').map(({ textContent }) => textContent)).toEqual([
    'worker-1pid 7 · Hubline 0.1.0',
    'mailhub a',
    'shophub c',
    'worker-2pid 7 · Hubline 0.1.0',
    'shophub b',
    'worker-1pid 8 · Hubline 0.1.0',
    'shophub d',
  ]);
  expect(table.getAllByText(/MiB/).map(({ textContent }) => textContent)).toEqual(['7 MiB', '7 MiB', '8 MiB']);
  expect(table.getAllByText('95.0%')).toHaveLength(3);
});
