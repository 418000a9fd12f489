import { screen, within } from '@testing-library/preact';
import { afterEach, expect, test } from 'vitest';
import type { ErrorGroup } from '../../server/dashboard/protocol.js';
import { releaseMarks } from '../charts/release-marks.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage, type Page } from '../testing/open-page.js';
import { SERVER_NOW } from '../testing/test-data.js';

let page: Page | undefined;

afterEach(() => {
  page?.close();
  page = undefined;
});

const HOUR = 3_600_000;

function groupOf(id: string, rest: Partial<ErrorGroup> = {}): ErrorGroup {
  return {
    id,
    eventType: 'order.paid',
    name: 'CardError',
    message: 'card # declined',
    failures: 12,
    attempts: 30,
    firstSeenAt: SERVER_NOW - 30 * HOUR,
    lastSeenAt: SERVER_NOW - 60_000,
    deadLetters: 0,
    history: [
      { at: SERVER_NOW - 25 * HOUR, failures: 5, attempts: 5 },
      { at: SERVER_NOW - HOUR, failures: 4, attempts: 9 },
      { at: SERVER_NOW, failures: 3, attempts: 3 },
    ],
    newest: [{ id: '4be0643f-1', requestId: 'r', at: SERVER_NOW - 60_000, attempt: 3, step: 'charge' }],
    ...rest,
  };
}

function rows(): (string | null)[] {
  return screen.getAllByRole('rowheader').map(({ textContent }) => textContent);
}

test('an error that began in another release than the latest is not new since that one', async () => {
  const api = createFakeApi([]);
  api.releases = [
    { service: 'shop', release: 'v1', startedAt: SERVER_NOW - 50 * HOUR },
    { service: 'shop', release: 'v2', startedAt: SERVER_NOW - 2 * HOUR },
    { service: 'mail', release: 'm7', startedAt: SERVER_NOW - 40 * HOUR },
  ];
  const recent = { firstSeenAt: SERVER_NOW - HOUR };
  api.groups = [
    groupOf('a', { ...recent, name: 'FromV2', firstRelease: 'v2' }),
    groupOf('b', { ...recent, name: 'FromMail', firstRelease: 'm7' }),
  ];
  page = await openPage(api, '#/errors');
  await page.click(screen.getByRole('button', { name: 'New since v2' }));
  expect(rows()).toEqual(['card # declined FromV2 new since v2']);
});

test('groups show their failures of the last 24 hours, and filter by release and by dead letters', async () => {
  const api = createFakeApi([]);
  api.releases = [
    { service: 'shop', release: 'v1', startedAt: SERVER_NOW - 50 * HOUR, endedAt: SERVER_NOW - 2 * HOUR },
    { service: 'shop', release: 'v2', startedAt: SERVER_NOW - 2 * HOUR },
  ];
  api.groups = [
    groupOf('old'),
    groupOf('new', { name: 'TypeError', message: 'x is undefined', firstSeenAt: SERVER_NOW - HOUR, deadLetters: 2 }),
  ];
  page = await openPage(api, '#/errors');
  expect(rows()).toEqual(['x is undefined TypeError new since v2', 'card # declined CardError ']);
  expect(screen.getByRole('combobox', { name: 'Sort by' }).textContent).toMatch(/^Sort by: Attention/);
  const cells = within(screen.getByRole('row', { name: /CardError/ })).getAllByRole('cell');
  expect(cells.map(({ textContent }) => textContent)).toEqual([
    'order.paid',
    '7of 12 in all, 30 attempts',
    '1 min ago first 1 d ago ',
    '0',
  ]);
  await page.click(screen.getByRole('button', { name: 'New since v2' }));
  expect(rows()).toEqual(['x is undefined TypeError new since v2']);
  await page.click(screen.getByRole('button', { name: 'With dead letters' }));
  expect(rows()).toHaveLength(1);
});

test('groups that fail more often than before come first, then new ones, then by their failures, whenever they last failed', async () => {
  const now = SERVER_NOW + HOUR / 2;
  const every = (seconds: number) =>
    Array.from({ length: 10 }, (_, index) => ({
      ...{ id: `4be0643f-${index}`, requestId: 'r', at: now - (index + 1) * seconds * 1_000, attempt: 1 },
    }));
  const hours = (count: number, failures: number) =>
    Array.from({ length: count }, (_, index) => ({ at: SERVER_NOW - index * HOUR, failures, attempts: 0 }));
  const since = (ageMs: number) => ({ firstSeenAt: now - ageMs });
  const api = createFakeApi([]);
  api.serverNow = now;
  const old = { lastSeenAt: now - HOUR, message: '' };
  api.groups = [
    // At the rate that it has always had.
    groupOf('a', {
      ...old,
      lastSeenAt: now,
      name: 'Steady',
      newest: every(36),
      history: hours(24, 100),
      ...since(60 * HOUR),
    }),
    groupOf('b', { ...old, name: 'Rare', history: hours(2, 1), ...since(60 * HOUR) }),
    groupOf('c', { ...old, name: 'New', history: hours(1, 5), ...since(HOUR) }),
    groupOf('d', { ...old, name: 'Rising', newest: every(24), history: hours(24, 5), ...since(60 * HOUR) }),
    // Many more than the newest ones.
    groupOf('f', { ...old, name: 'Storm', newest: every(0.01), history: hours(1, 50_000), ...since(60 * HOUR) }),
    // By another clock.
    groupOf('g', { ...old, name: 'Ahead', newest: every(36), history: hours(1, 40), ...since(-500) }),
    // It began with this rate.
    groupOf('e', { ...old, name: 'Young', newest: every(36), history: hours(2, 50), ...since(HOUR) }),
  ];
  page = await openPage(api, '#/errors');
  expect(rows()).toEqual([
    'Storm rising: 28/s ',
    'Rising rising: 2.5/min ',
    'Young new in 24 h',
    'Ahead new in 24 h',
    'New new in 24 h',
    'Steady ',
    'Rare ',
  ]);
});

test('an open group stays open while it grows, with the newest failures', async () => {
  const api = createFakeApi([]);
  api.groups = [groupOf('a'), groupOf('b', { name: 'Other' })];
  page = await openPage(api, '#/errors');
  await page.click(screen.getByRole('button', { name: /CardError/ }));
  const failures = (): string | null => screen.getByRole('list', { name: 'Newest failures' }).textContent;
  expect(failures()).toContain('attempt 3 · step charge');
  api.groups = [groupOf('b', { name: 'Other', lastSeenAt: SERVER_NOW }), groupOf('a', { failures: 13 })];
  await page.poll();
  expect(screen.getByRole('button', { name: /CardError/ }).getAttribute('aria-expanded')).toBe('true');
  expect(failures()).toContain('4be0643f');
  expect(screen.queryByText(/Last message/)).toBeNull();
  const lastError = { name: 'CardError', message: 'card 24083 declined' };
  const problem = { kind: 'failing', severity: 'error', eventType: 'order.paid', lastError } as const;
  api.health = { status: 'failing', problems: [problem], problemCount: 1 };
  await page.poll();
  expect(screen.getByText(/Last message/).parentElement?.textContent).toBe('Last message: card 24083 declined');
});

test.each([
  ['card # declined', 'card 24083 declined', true],
  ['card # declined', 'card 24083 declined twice', false],
  ['card # declined twice', 'card 24083 declined twice', true],
  ['order # from # to # failed', 'order 1 to 2 from 3 failed', false],
  ['"…" is no card:\n#', '"a\nb" is no card:\n24083', true],
  // Nothing but a mask is that of every message; one that is cut has the start of its own.
  ['#', '24083', false],
  ['no card (# of', 'no card (24083 of 9', false],
  ['no card (# of…', 'no card (24083 of 9', true],
])('the last message of the group "%s" is "%s": %s', async (message, text, isLast) => {
  const api = createFakeApi([]);
  api.groups = [groupOf('a', { message })];
  const lastError = { name: 'CardError', message: text };
  const problem = { kind: 'failing', severity: 'error', eventType: 'order.paid', lastError } as const;
  api.health = { status: 'failing', problems: [problem], problemCount: 1 };
  page = await openPage(api, '#/errors');
  await page.click(screen.getByRole('button', { name: /CardError/ }));
  expect(screen.queryByText(/Last message/) !== null).toBe(isLast);
});

test('the last message of an event type is not that of a workflow with its name', async () => {
  const api = createFakeApi([]);
  api.groups = [groupOf('a')];
  const lastError = { name: 'CardError', message: 'card 24083 declined' };
  const problem = { kind: 'failing', severity: 'error', workflow: 'order.paid', lastError } as const;
  api.health = { status: 'failing', problems: [problem], problemCount: 1 };
  page = await openPage(api, '#/errors');
  await page.click(screen.getByRole('button', { name: /CardError/ }));
  expect(screen.queryByText(/Last message/)).toBeNull();
});

test('releases that replace another one are marks, one for services that start it together', () => {
  const at = (minutes: number): number => minutes * 60_000;
  expect(
    releaseMarks([
      { service: 'shop', release: 'v1', startedAt: at(0) },
      { service: 'mail', release: 'v1', startedAt: at(1) },
      { service: 'shop', release: 'v2', startedAt: at(60) },
      { service: 'mail', release: 'v2', startedAt: at(60) + 30_000 },
    ]),
  ).toMatchObject([{ at: at(60), label: 'v2 · shop, mail' }]);
  expect(
    releaseMarks([
      { service: 'shop', release: 'v1', startedAt: at(0) },
      { service: 'shop', release: 'v2', startedAt: at(9) },
    ]),
  ).toMatchObject([{ at: at(9), label: 'v2' }]);
});

test('what the newest failures of a group have in common stands once above them', async () => {
  const api = createFakeApi([]);
  const failure = (id: string, step: string) => ({
    id,
    requestId: 'r',
    at: SERVER_NOW,
    attempt: 1,
    step,
    release: 'v2',
  });
  api.groups = [
    groupOf('a', { newest: [failure('4be0643f-1', 'charge'), failure('4be0643f-2', 'charge')] }),
    groupOf('b', { newest: [failure('4be0643f-3', 'charge'), failure('4be0643f-4', 'pack')] }),
  ];
  page = await openPage(api, '#/errors');
  for (const button of screen.getAllByRole('button', { name: /card # declined/ })) await page.click(button);
  const lists = screen.getAllByRole('list', { name: 'Newest failures' });
  expect(lists.map(({ parentElement }) => parentElement?.textContent?.match(/step \w+ · release v2/g))).toEqual([
    ['step charge · release v2'],
    ['step charge · release v2', 'step pack · release v2'],
  ]);
});
