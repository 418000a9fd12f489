import { fireEvent, screen } from '@testing-library/preact';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { EventSummary } from '../../server/dashboard/protocol.js';
import type { SearchFields } from '../actions/action-client.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage, type Page } from '../testing/open-page.js';
import { countsOf, eventOf, introspectionOf, SERVER_NOW } from '../testing/test-data.js';

/** Search that the page sent. */
interface Sent {
  readonly query: SearchFields;
  /** Answers with an event of a type. */
  answer(type: string, after?: string): Promise<void>;
}

let page: Page;
let sent: Sent[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal('fetch', (url: string, { body }: RequestInit) => {
    if (!url.endsWith('/search')) return Promise.resolve(Response.json({ user: 'ada', can: ['search'] }));
    return new Promise<Response>((resolve) => {
      const answer = (type: string, after?: string): Promise<void> => {
        resolve(Response.json({ now: SERVER_NOW, events: [foundEvent(type)], after }));
        return page.pass(10);
      };
      sent.push({ query: JSON.parse(String(body)), answer });
    });
  });
});

afterEach(() => vi.unstubAllGlobals());

function foundEvent(type: string): EventSummary {
  const rest = { service: 'shop', status: 'completed', requestId: 'r', acceptedAt: SERVER_NOW, attempt: 1 } as const;
  return { id: `id of ${type}`, kind: 'event', type, ...rest };
}

async function open(hash: string): Promise<void> {
  const api = createFakeApi();
  api.introspection = async () => ({
    introspection: introspectionOf([eventOf('order.created', countsOf(3))], {}, { actions: '/actions' }),
    sentAt: SERVER_NOW,
  });
  page = await openPage(api, hash);
  await page.pass(10);
}

async function type(field: HTMLElement, text: string): Promise<void> {
  fireEvent.input(field, { target: { value: text } });
  await page.pass(0);
}

async function submit(text: string): Promise<void> {
  const field = screen.getByRole('textbox');
  await type(field, text);
  await page.click(screen.getByRole('button', { name: 'Search' }));
  await page.pass(10);
}

const rows = (): (string | null)[] => screen.queryAllByRole('rowheader').map(({ textContent }) => textContent);

test('the palette hands the tag over without a URL, and the user submits the search', async () => {
  await open('#/');
  const push = vi.spyOn(window.history, 'pushState');
  fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true });
  await page.pass(0);
  const input = screen.getByRole('combobox', { name: 'Go to a view, a name or an id' });
  await type(input, 'customer:17');
  await page.click(screen.getByRole('option', { name: /tag of events/ }));
  await page.pass(10);
  expect(location.hash).toBe('#/search');
  expect(JSON.stringify(push.mock.calls)).not.toContain('customer');
  expect(document.title).not.toContain('customer');
  const field = screen.getByRole('textbox', { name: 'Tag' });
  expect(field).toHaveProperty('value', 'customer:17');
  expect(document.activeElement).toBe(field);
  expect(sent).toEqual([]);
  await page.click(screen.getByRole('button', { name: 'Search' }));
  expect(sent.map(({ query }) => query)).toEqual([{ tag: 'customer:17' }]);
});

test('a link with a tag searches nothing', async () => {
  await open('#/search/customer%3A17');
  expect(screen.getByRole('textbox', { name: 'Tag' })).toHaveProperty('value', '');
  expect(sent).toEqual([]);
});

test('older ones are those of the submitted search, whatever the text is now', async () => {
  await open('#/search');
  await submit('a');
  await sent[0]?.answer('first', 'cursor');
  await type(screen.getByRole('textbox'), 'b');
  await page.click(screen.getByRole('button', { name: 'Key' }));
  await page.click(screen.getByRole('button', { name: 'Search older ones' }));
  expect(sent[1]?.query).toEqual({ tag: 'a', after: 'cursor' });
  await sent[1]?.answer('second');
  expect(rows()).toEqual([expect.stringContaining('first'), expect.stringContaining('second')]);
  expect(screen.queryByRole('button', { name: 'Search older ones' })).toBeNull();
});

test('a late answer of an earlier search changes nothing', async () => {
  await open('#/search');
  await submit('a');
  await sent[0]?.answer('first', 'cursor');
  await page.click(screen.getByRole('button', { name: 'Search older ones' }));
  await submit('b');
  await sent[2]?.answer('newest');
  await sent[1]?.answer('older');
  expect(rows()).toEqual([expect.stringContaining('newest')]);
});
