import { fireEvent, screen, within } from '@testing-library/preact';
import { expect, test } from 'vitest';
import type { RunningHub } from '../api/decode-views.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { countsOf, eventOf, SERVER_NOW } from '../testing/test-data.js';

function hubOf(id: string, service: string, host: string, process?: string): RunningHub {
  const state = { pid: 7, version: '0.1.0', startedAt: SERVER_NOW, active: 1, slots: 10, heapBytes: 7 * 1_048_576 };
  return { id, service, host, ...state, loopBusy: 0.95, handles: 0, ...(process !== undefined && { process }) };
}

test('the hubs of a process follow each other, and share its heap and its load', async () => {
  const api = createFakeApi([]);
  const processes = [
    hubOf('a', 'mail', 'worker-1', 'p'),
    hubOf('b', 'shop', 'worker-2', 'q'),
    hubOf('c', 'shop', 'worker-1', 'p'),
    // Another container with the same host and id, and a hub of an earlier version.
    hubOf('d', 'shop', 'worker-1', 'r'),
    hubOf('e', 'shop', 'worker-1'),
  ];
  api.processes = async () => {
    return { now: SERVER_NOW, processes, processCount: 5, registrations: [{ events: [], workflows: [] }] };
  };
  await openPage(api, '#/processes');
  expect(screen.getByRole('heading', { name: 'Running processes 5 hubs in 4 processes' })).toBeTruthy();
  const table = within(screen.getByRole('table', { name: 'Running processes' }));
  expect(table.getAllByRole('rowheader').map(({ textContent }) => textContent)).toEqual([
    'worker-1pid 7 · Hubline 0.1.0',
    'mailhub a',
    'shophub c',
    'worker-2pid 7 · Hubline 0.1.0',
    'shophub b',
    'worker-1pid 7 · Hubline 0.1.0',
    'shophub d',
    'worker-1pid 7 · Hubline 0.1.0',
    'shophub e',
  ]);
  expect(table.getAllByText('7 MiB')).toHaveLength(4);
  expect(table.getAllByText('95.0%')).toHaveLength(4);
});

test('what a process handles stays open while others start and end', async () => {
  const api = createFakeApi([]);
  let processes = [hubOf('b', 'shop', 'worker-2', 'q')];
  api.processes = async () => {
    const registrations = [{ events: ['paid'], workflows: [] }];
    return { now: SERVER_NOW, processes, processCount: processes.length, registrations };
  };
  const page = await openPage(api, '#/processes');
  const handles = screen.getByText('1 event type');
  fireEvent.click(handles);
  await page.poll();
  processes = [hubOf('a', 'mail', 'worker-1', 'p'), ...processes];
  await page.poll();
  expect(screen.getAllByText('1 event type')).toContain(handles);
  expect(screen.getByRole('heading', { name: /2 hubs in 2 processes/ })).toBeTruthy();
});

test('the event types without a free slot stand above the processes and the chart', async () => {
  const busy = { concurrency: 1 };
  const types = Array.from({ length: 8 }, (_, index) => eventOf(`type ${index}`, countsOf(), busy));
  const api = createFakeApi([...types, eventOf('stuck', countsOf(0, 0, { active: 1, pending: 2 }), busy)]);
  api.processes = async () => {
    const registrations = [{ events: ['stuck'], workflows: [] }];
    return { now: SERVER_NOW, processes: [hubOf('a', 'mail', 'worker-1')], processCount: 1, registrations };
  };
  await openPage(api, '#/processes');
  const titles = screen.getAllByRole('heading', { level: 3 }).map(({ textContent }) => textContent);
  expect(titles.slice(0, 3)).toEqual([
    'Slots of event types now, over all processes',
    'Running processes 1 hub in 1 process',
    'Durations, p95',
  ]);
  const slots = within(screen.getByRole('table', { name: 'Slots of event types' }));
  expect(slots.getAllByRole('rowheader')[0]?.textContent).toBe('stuck full');
  expect(slots.getAllByRole('rowheader')).toHaveLength(5);
});
