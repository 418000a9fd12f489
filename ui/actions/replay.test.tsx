import { screen, within } from '@testing-library/preact';
import { afterEach, expect, test, vi } from 'vitest';
import type { ErrorGroup } from '../../server/dashboard/protocol.js';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { countsOf, eventOf, introspectionOf, SERVER_NOW } from '../testing/test-data.js';

const HOUR = 3_600_000;

afterEach(() => vi.unstubAllGlobals());

function groupOf(message: string, deadLetters: number, lastSeenAt = SERVER_NOW - HOUR): ErrorGroup {
  return {
    ...{ id: message, eventType: 'order.paid', name: 'CardError', message, failures: 9, attempts: 9, deadLetters },
    ...{ firstSeenAt: SERVER_NOW - 30 * HOUR, lastSeenAt, history: [], newest: [] },
  };
}

test('the dialog that replays dead letters has their errors, how many have which, and since when: of those chosen', async () => {
  const previews: unknown[] = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (!url.endsWith('/replay')) return Response.json({ user: 'ada', can: ['replay'] });
    previews.push(JSON.parse(String(init.body)));
    return Response.json({ count: 0, isMore: false, ids: [], until: SERVER_NOW });
  });
  const api = createFakeApi();
  api.events = [eventOf('order.paid', countsOf(3, 9, { deadLetters: 7, lastFailedAt: SERVER_NOW + 400 }))];
  api.details = {
    errorGroups: [groupOf('card declined', 5), groupOf('no amount', 2, SERVER_NOW - 60_000), groupOf('replayed', 0)],
  };
  api.introspection = async () => ({
    introspection: introspectionOf(api.events, {}, { actions: '/actions' }),
    // The header of a response has whole seconds.
    sentAt: SERVER_NOW - 900,
  });
  const page = await openPage(api, '#/events/order.paid');
  await page.pass(10);
  await page.click(screen.getByRole('button', { name: 'Replay 7 dead letters' }));
  await page.pass(10);
  const dialog = within(screen.getByRole('dialog', { name: /^Replay the dead letters of order\.paid/, hidden: true }));
  expect(dialog.getByText('Each event is handled again, from its first attempt.')).toBeTruthy();
  // What still fails would fail again: the user chooses it.
  expect(dialog.getByRole('button', { name: 'Replay 5 dead letters', hidden: true })).toBeTruthy();
  expect(dialog.getByText(/^What still fails would probably fail again/)).toBeTruthy();
  const errors = within(dialog.getByRole('list', { name: 'Their errors', hidden: true }));
  expect(errors.getAllByRole('listitem', { hidden: true }).map(({ textContent }) => textContent)).toEqual([
    '×5 card declinedCardErrorlast seen 1 h ago, first 1 d ago',
    '×2 no amountCardErrorstill fails, last seen 1 min ago, first 1 d ago',
  ]);
  // What still fails stands out.
  expect(errors.getByText('1 min ago').parentElement?.className).toBe('tone-failed');
  expect(errors.getByText('1 h ago').parentElement?.className).toBe('');
  // The text of a label is phrasing content.
  expect(document.querySelector('label :is(p, div)')).toBeNull();
  const [first, second] = errors.getAllByRole('checkbox', { hidden: true });
  await page.click(second as HTMLElement);
  expect(dialog.getByRole('button', { name: 'Replay 7 dead letters', hidden: true })).toBeTruthy();
  await page.click(first as HTMLElement);
  const replay = dialog.getByRole('button', { name: 'Replay 2 dead letters', hidden: true });
  await page.click(second as HTMLElement);
  expect(replay).toHaveProperty('textContent', 'Replay 0 dead letters');
  expect(replay).toHaveProperty('disabled', true);
  await page.click(second as HTMLElement);
  await page.click(replay);
  await page.pass(10);
  // The last failure that is counted, by the clock of the store: the user has not seen what fails later.
  const until = SERVER_NOW + 400;
  expect(previews).toEqual([{ filter: { type: 'order.paid', errorGroup: 'no amount', until }, preview: true }]);
  page.close();
});

test.each<[groups: readonly ErrorGroup[], text: string, isDisabled: boolean]>([
  [[groupOf('down', 3, SERVER_NOW), groupOf('late', 2, SERVER_NOW)], 'Replay 0 dead letters', true],
  [[groupOf('down', 5, SERVER_NOW)], 'Replay 5 dead letters', false],
])(
  'of several errors that all still fail none is chosen, and the only one is',
  async (errorGroups, text, isDisabled) => {
    vi.stubGlobal('fetch', async () => Response.json({ user: 'ada', can: ['replay'] }));
    const api = createFakeApi([eventOf('order.paid', countsOf(3, 9, { deadLetters: 5 }))]);
    api.details = { errorGroups };
    const introspection = introspectionOf(api.events, {}, { actions: '/actions' });
    api.introspection = async () => ({ introspection, sentAt: SERVER_NOW });
    const page = await openPage(api, '#/events/order.paid');
    await page.pass(10);
    await page.click(screen.getByRole('button', { name: 'Replay 5 dead letters' }));
    const dialog = within(screen.getByRole('dialog', { name: /^Replay the dead letters/, hidden: true }));
    expect(dialog.getByRole('button', { name: text, hidden: true })).toHaveProperty('disabled', isDisabled);
    page.close();
  },
);
