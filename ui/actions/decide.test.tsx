import { fireEvent, screen, within } from '@testing-library/preact';
import { afterEach, expect, test, vi } from 'vitest';
import type { WaitIntrospection } from '../../server/dashboard/protocol.js';
import { RequestError } from '../api/fetch-json.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { eventOf, introspectionOf, SERVER_NOW } from '../testing/test-data.js';

const HOUR = 3_600_000;
const id = '0123456789';

afterEach(() => vi.unstubAllGlobals());

const wait: WaitIntrospection = {
  ...{ id, kind: 'event', type: 'ticket.opened', service: 'support', requestId: id },
  step: {
    ...{ name: 'turn 2 / refund', kind: 'approval', status: 'waiting' },
    waitsFor: { since: SERVER_NOW - HOUR, dueAt: SERVER_NOW + 48 * HOUR, event: { type: 'decided' } },
  },
};

const contents = [
  { kind: 'payload', json: '"my tea is broken"' },
  { kind: 'output', step: 'turn 1', json: '"private"' },
  { kind: 'arguments', step: 'turn 2 / refund', json: '{ "order": 1 }' },
];

/** Opens the dialog of an approval for a user with some rights. */
async function openDialog(can: readonly string[]) {
  const posts: [path: string | undefined, body: unknown][] = [];
  vi.stubGlobal('fetch', async (url: string, { body }: RequestInit) => {
    if (body === undefined) return Response.json({ user: 'ada', can });
    posts.push([url.split('/').at(-1), JSON.parse(String(body))]);
    return Response.json({ events: [{ service: 'support', contents }], done: 1 });
  });
  const api = createFakeApi();
  const agent = { name: 'helper', model: 'small-1', tools: ['refund'], delegates: [] };
  api.events = [{ ...eventOf('ticket.opened'), kind: 'agent', agent }];
  api.introspection = async () => {
    if (api.error !== null) throw api.error;
    return { introspection: introspectionOf(api.events, {}, { actions: '/actions' }), sentAt: SERVER_NOW };
  };
  const waits = { waits: [wait], approvals: 1, suspended: 1, isTruncated: false, truncated: [] };
  api.waits = async () => ({ now: SERVER_NOW, ...waits });
  const page = await openPage(api, '#/waits');
  await page.pass(10);
  await page.click(screen.getByRole('button', { name: 'Decide' }));
  await page.pass(10);
  const dialog = within(screen.getByRole('dialog', { name: 'Approve or refuse the call of refund?', hidden: true }));
  return { page, api, dialog, posts };
}

test.each([
  ['Approve', true],
  ['Refuse', false],
])('the dialog of an approval says what it is about, and %s decides', async (answer, approved) => {
  const { page, dialog, posts } = await openDialog(['approve', 'payload']);
  const facts = dialog.getAllByRole('term', { hidden: true }).map((term) => term.parentElement?.textContent);
  expect(screen.getByRole('rowheader', { name: /^ticket/, hidden: true }).textContent).toMatch(/ agent helper$/);
  expect(facts).toEqual([
    'Agenthelper',
    'Eventticket.opened 01234567Copy the event id 01234567',
    expect.stringMatching(/^Since1 h ago, until .* \(in 2 d\), then it counts as refused$/),
  ]);
  const links = dialog.getAllByRole('link', { hidden: true }).map((link) => link.getAttribute('href'));
  expect(links).toEqual(['#/agents/helper', '#/events/ticket.opened', `#/requests/${id}`]);
  const shown = dialog
    .getAllByRole('figure', { hidden: true })
    .map((figure) => figure.querySelector('pre')?.textContent);
  expect(shown).toEqual(['{ "order": 1 }', '"my tea is broken"']);
  await page.click(dialog.getByRole('button', { name: answer, hidden: true }));
  await page.pass(10);
  expect(posts).toEqual([
    ['payload', { id }],
    ['approve', { id, step: 'turn 2 / refund', approved, actionId: expect.any(String) }],
  ]);
  page.close();
});

test('without the right to see payloads, the dialog asks for none and decides', async () => {
  const { page, dialog, posts } = await openDialog(['approve']);
  expect(dialog.queryAllByRole('figure', { hidden: true })).toEqual([]);
  await page.click(dialog.getByRole('button', { name: 'Approve', hidden: true }));
  await page.pass(10);
  expect(posts.map(([path]) => path)).toEqual(['approve']);
  page.close();
});

test('the dialog stays as it is while the server is away', async () => {
  const { page, api, dialog, posts } = await openDialog(['approve', 'payload']);
  const reason = dialog.getByRole<HTMLTextAreaElement>('textbox', { hidden: true });
  fireEvent.input(reason, { target: { value: 'the cup was broken' } });
  const answer = globalThis.fetch;
  vi.stubGlobal('fetch', () => Promise.reject(new Error('away')));
  api.error = new RequestError('away');
  await page.poll();
  expect(screen.getByText('Lost')).toBeTruthy();
  vi.stubGlobal('fetch', answer);
  api.error = null;
  await page.poll();
  expect(screen.getByText('Live')).toBeTruthy();
  expect([reason.isConnected, reason.value, posts.length]).toEqual([true, 'the cup was broken', 1]);
  page.close();
});
