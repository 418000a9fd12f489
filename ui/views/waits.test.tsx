import { screen } from '@testing-library/preact';
import { expect, test } from 'vitest';
import type { WaitIntrospection } from '../../server/dashboard/protocol.js';
import { groupBy } from '../shared/lists.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { SERVER_NOW } from '../testing/test-data.js';
import { stepOf, toolOf } from './waits.js';

function waitOf(id: string, type: string, step: string): WaitIntrospection {
  return {
    id,
    kind: 'workflow',
    type,
    service: 'shop',
    requestId: id,
    step: { name: step, kind: 'sleep', status: 'waiting', waitsFor: { since: 0 } },
  };
}

test('groups by type and step, in the order of the oldest wait of each', () => {
  const waits = [waitOf('1', 'b', 'x'), waitOf('2', 'a', 'x'), waitOf('3', 'b', 'y'), waitOf('4', 'b', 'x')];
  expect([...groupBy(waits, stepOf).values()].map((of) => of.map(({ id }) => id))).toEqual([['1', '4'], ['2'], ['3']]);
});

test.each([
  ['turn 1 / refund', 'refund'],
  ['triage / turn 2 / refund #2', 'refund'],
  ['turn 1 / delegate / turn 3 / send mail', 'send mail'],
])('the approval %s is for the tool %s', (name, tool) => {
  expect(toolOf(waitOf('1', 'a', name))).toBe(tool);
});

test('a count of waits is exact unless the list of its type is cut', async () => {
  const api = createFakeApi([]);
  const printed = [60_000, 5_000].map((age, index): WaitIntrospection => {
    const wait = waitOf(`4${index}`, 'parcel', 'printed');
    return { ...wait, step: { ...wait.step, waitsFor: { since: SERVER_NOW - age } } };
  });
  const waits = [
    waitOf('1', 'fulfil', 'scanned'),
    waitOf('2', 'fulfil', 'scanned'),
    waitOf('3', 'checkout', 'label'),
    ...printed,
  ];
  const truncated = [{ kind: 'workflow', type: 'fulfil' }] as const;
  api.waits = async () => ({ now: SERVER_NOW, waits, approvals: 0, suspended: 6, isTruncated: true, truncated });
  const page = await openPage(api, '#/waits');
  const groups = screen.getAllByRole('rowheader').map(({ textContent }) => textContent);
  expect(groups.filter((text) => /scanned|label|printed/.test(text ?? ''))).toEqual([
    'fulfil scanned 2 listed · shop',
    'checkout label 1 · shop',
    'parcel printed 2 · the oldest waits for 1 min · shop',
  ]);
  expect(screen.getByRole('heading', { name: /^Other/ }).textContent).toBe('Other waits 5 listed');
  expect(screen.getByText('5 of 6 suspended runs are listed.')).toBeTruthy();
  page.close();
});

test('the age of the oldest approval of a tool stands there although others are not listed', async () => {
  const api = createFakeApi([]);
  const waits = [600_000, 5_000].map((age, index): WaitIntrospection => {
    const wait = waitOf(`${index}`, 'ticket', 'turn 1 / refund');
    return { ...wait, step: { ...wait.step, kind: 'approval', waitsFor: { since: SERVER_NOW - age } } };
  });
  const truncated = [{ kind: 'workflow', type: 'ticket' }] as const;
  api.waits = async () => ({ now: SERVER_NOW, waits, approvals: 3, suspended: 3, isTruncated: true, truncated });
  const page = await openPage(api, '#/waits');
  expect(screen.getByText('refund').closest('tr')?.textContent).toBe('refund 2 listed · the oldest waits for 10 min');
  page.close();
});

test.each<[Partial<WaitIntrospection['step']>, string | undefined, string[]]>([
  [{ kind: 'event', waitsFor: { since: 0, event: { type: 'paid' } } }, 'event paid', []],
  [{ kind: 'invoke', waitsFor: { since: 0, runId: '0123456789' } }, 'run 01234567', ['#/requests/0123456789']],
  [
    { kind: 'event', waitsFor: { since: 0, event: { type: 'paid' }, runId: '0123456789' } },
    'event paid or run 01234567',
    ['#/requests/0123456789'],
  ],
  [{ kind: 'sleep', waitsFor: { since: 0, dueAt: 1 } }, undefined, []],
  [{ kind: 'run', waitsFor: { since: 0, dueAt: 1 } }, 'the next attempt', []],
])('%j waits for %s, a child run by its link', async (step, text, links) => {
  const api = createFakeApi([]);
  const wait = waitOf('abc', 'fulfil', 'scanned');
  const waits = [{ ...wait, step: { ...wait.step, ...step } }];
  const body = { now: SERVER_NOW, waits, approvals: 0, suspended: 1, isTruncated: false, truncated: [] };
  api.waits = async () => body;
  const page = await openPage(api, '#/waits');
  const [group, run] = screen.getAllByRole('rowheader');
  // What differs between runs stands beside each.
  const isRun = links.length > 0;
  expect(group?.textContent).toBe(`fulfil scanned 1 · shop${isRun || text === undefined ? '' : ` · ${text}`}`);
  const [target] = run?.querySelector('.muted')?.textContent?.trim().split('Copy') ?? [];
  expect(target).toBe(isRun ? text : undefined);
  const hrefs = [...(run?.querySelectorAll('a') ?? [])].map((link) => link.getAttribute('href'));
  expect(hrefs).toEqual(['#/requests/abc', ...links]);
  page.close();
});
