import { screen, within } from '@testing-library/preact';
import { createFakeApi, type FakeApi } from './fake-api.js';
import { countsOf, eventOf, failingOf, SERVER_NOW } from './test-data.js';

/** Creates the API of a shop with one failing event type. */
export function shop(): FakeApi {
  return createFakeApi([
    eventOf('order.created', countsOf(120, 0, { lastReceivedAt: SERVER_NOW }), { onSuccess: 'order.paid' }),
    failingOf('order.paid', 90, 10),
    eventOf('<img src=x onerror=alert(1)>', countsOf(3)),
    eventOf('audit.logged'),
  ]);
}

/** Returns the table of the event types. */
export function table(): ReturnType<typeof within> {
  return within(screen.getByRole('table', { name: /^Event types/ }));
}

/** Returns the event types in the table, from top to bottom. */
export function shownTypes(): (string | null)[] {
  return table()
    .getAllByRole('link')
    .map((link: HTMLElement) => link.textContent);
}

/** Returns the row of an event type. */
export function row(type: string): HTMLElement {
  const found = table().getByRole('link', { name: type }).closest('tr');
  if (!found) throw new Error(`${type} is not in the table.`);
  return found;
}
