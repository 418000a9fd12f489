import { fireEvent, screen, within } from '@testing-library/preact';
import { afterEach, expect, test } from 'vitest';
import type { EventSummary } from '../../server/dashboard/protocol.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage, type Page } from '../testing/open-page.js';
import { agentOf, countsOf, eventOf, SERVER_NOW, workflowOf } from '../testing/test-data.js';

let page: Page | undefined;

const foundEvent: EventSummary = {
  id: '4be0643f-1',
  kind: 'event',
  type: 'order.created',
  service: 'shop',
  status: 'failed',
  requestId: 'r',
  acceptedAt: SERVER_NOW - 60_000,
  attempt: 1,
  error: { name: 'CardError', message: 'declined' },
};

afterEach(() => {
  page?.close();
  page = undefined;
});

async function open(): Promise<HTMLElement> {
  const api = createFakeApi([eventOf('order.created', countsOf(3)), eventOf('mail.order', countsOf(1))]);
  api.workflows = [workflowOf('fulfil-order', ['pick'])];
  api.agents = [agentOf('order desk')];
  page = await openPage(api, '#/workflows');
  fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true });
  await page.pass(0);
  return screen.getByRole('combobox', { name: 'Go to a view, a name or an id' });
}

function options(): (string | null)[] {
  return within(screen.getByRole('listbox'))
    .queryAllByRole('option')
    .map(({ textContent }) => textContent);
}

test('leads with what needs attention, the worst first, each subject once, and lists all views', async () => {
  const api = createFakeApi([eventOf('mail.sent', countsOf(1)), eventOf('order.created', countsOf(3))]);
  api.workflows = [workflowOf('fulfil', ['pick'])];
  api.health = {
    status: 'failing',
    problems: [
      { kind: 'failing', severity: 'error', workflow: 'fulfil', failed: 2, ended: 8 },
      { kind: 'oldest-pending', severity: 'warning', eventType: 'order.created', since: SERVER_NOW - 540_000 },
      { kind: 'approval-waiting', severity: 'warning', eventType: 'order.created', count: 2 },
      { kind: 'lost-process', severity: 'warning', count: 1 },
    ],
    problemCount: 4,
  };
  page = await openPage(api, '#/');
  fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true });
  await page.pass(0);
  expect(options().slice(0, 3)).toEqual([
    'fulfil25.0% failed in 5 min',
    'order.createdwaits 9 min',
    'Processes1 process lost',
  ]);
  const tones = within(screen.getByRole('listbox'))
    .getAllByRole('option')
    .map(({ className }) => className);
  expect(tones.slice(0, 4)).toEqual(['is-failed', 'is-stale', 'is-stale', '']);
  expect(options().filter((option) => option?.includes('order.created'))).toHaveLength(1);
  expect(options()).toContain('Processesg p');
  expect(document.querySelector('.palette')?.textContent).toMatch(/↵ open$/);
});

test('finds types, workflows and agents by the words of their names, and goes to the chosen one', async () => {
  const input = await open();
  fireEvent.input(input, { target: { value: 'order' } });
  await page?.pass(0);
  expect(options()).toEqual(['order.created', 'mail.order', 'order desk', 'fulfil-order']);
  expect(screen.getAllByRole('group').map((group) => group.getAttribute('aria-label'))).toEqual([
    'Event types',
    'Agents',
    'Workflows',
  ]);
  fireEvent.keyDown(input, { key: 'ArrowDown' });
  fireEvent.keyDown(input, { key: 'ArrowUp' });
  fireEvent.keyDown(input, { key: 'ArrowUp' });
  await page?.pass(0);
  expect(input.getAttribute('aria-activedescendant')).toBe('palette-3');
  fireEvent.keyDown(input, { key: 'Enter' });
  await page?.pass(0);
  expect(location.hash).toBe('#/workflows/fulfil-order');
});

test('searches by a tag if types show theirs', async () => {
  const api = createFakeApi([eventOf('order.created', countsOf(3))]);
  api.showsTags = true;
  api.tagged = async (tag) => ({ now: api.serverNow, tag, isTruncated: true, events: [foundEvent] });
  page = await openPage(api);
  fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true });
  await page.pass(0);
  const input = screen.getByRole('combobox', { name: 'Go to a view, a name or an id' });
  fireEvent.input(input, { target: { value: 'region:eu' } });
  await page.pass(0);
  expect(options()).toEqual(['region:euid of an event, a run or a request', 'region:eutag of events and runs']);
  fireEvent.keyDown(input, { key: 'ArrowUp' });
  await page.pass(0);
  fireEvent.keyDown(input, { key: 'Enter' });
  await page.poll();
  expect(location.hash).toBe('#/tagged/region%3Aeu');
  const row = screen.getByRole('row', { name: /order\.created/ });
  expect(
    within(row)
      .getAllByRole('cell')
      .map(({ textContent }) => textContent),
  ).toEqual(['Failed', '1 min ago', 'CardError: declined']);
  expect(screen.getByText(/lists older ones/)).toBeDefined();
});

test('looks an id up, and finds actions', async () => {
  const input = await open();
  fireEvent.input(input, { target: { value: '4be0643f' } });
  await page?.pass(0);
  expect(options()).toEqual(['4be0643fid of an event, a run or a request']);
  fireEvent.input(input, { target: { value: 'pause' } });
  await page?.pass(0);
  fireEvent.keyDown(input, { key: 'Enter' });
  await page?.pass(0);
  expect(location.hash).toBe('#/workflows?every=off');
});

test('"g" and a letter open a view', async () => {
  const api = createFakeApi([eventOf('a', countsOf(1))]);
  page = await openPage(api);
  await page.press('g');
  await page.press('a');
  expect(location.hash).toBe('#/agents');
  await page.press('g');
  await page.press('f');
  expect(location.hash).toBe('#/flow');
});
