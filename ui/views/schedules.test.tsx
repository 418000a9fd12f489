import { screen, within } from '@testing-library/preact';
import { expect, test } from 'vitest';
import { createFakeApi } from '../testing/fake-api.js';
import { openPage } from '../testing/open-page.js';
import { SERVER_NOW } from '../testing/test-data.js';

test('the line of the next 12 hours shows the schedules that are due first, and all on request', async () => {
  const api = createFakeApi([]);
  const names = Array.from({ length: 14 }, (_, index) => `report ${index + 1}`);
  const { introspection } = api;
  api.introspection = async (...args) => {
    const response = await introspection(...args);
    const schedules = names.map((name) => ({
      name,
      service: 'shop',
      cron: '0 * * * *',
      emit: 'due',
      catchUp: 'last' as const,
      processes: 1,
    }));
    return { ...response, introspection: { ...response.introspection, schedules } };
  };
  api.outlooks = async () => ({
    now: SERVER_NOW,
    schedules: names.map((name, index) => ({
      ...{ service: 'shop', name, isDense: false },
      dueAt: [SERVER_NOW + (index + 1) * 600_000],
    })),
  });
  const page = await openPage(api, '#/schedules');
  const outlook = within(screen.getByRole('region', { name: 'Next 12 h 14 of 14 schedules' }));
  const shown = (): number => outlook.getAllByText(/^report/).length;
  expect(shown()).toBe(12);
  await page.click(outlook.getByRole('button', { name: 'Show all 14 schedules' }));
  expect(shown()).toBe(14);
  await page.click(outlook.getByRole('button', { name: 'Show the first 12' }));
  expect(shown()).toBe(12);
  page.close();
});

test('a schedule whose event type is stuck says so, above the others', async () => {
  const api = createFakeApi([]);
  const { introspection } = api;
  api.introspection = async (...args) => {
    const response = await introspection(...args);
    const schedule = { service: 'shop', cron: '0 3 * * *', catchUp: 'last' as const, processes: 1 };
    const schedules = ['mail', 'report'].map((emit) => ({ ...schedule, name: `nightly ${emit}`, emit }));
    const stuck = { kind: 'oldest-pending', severity: 'warning', since: SERVER_NOW - 480_000 } as const;
    const health = { ...response.introspection.health, problems: [{ ...stuck, eventType: 'report' }] };
    return { ...response, introspection: { ...response.introspection, schedules, health } };
  };
  // Its own last event is not the one that waits.
  const last = { id: 'a', kind: 'event', status: 'completed' } as const;
  const outlook = { service: 'shop', name: 'nightly report', isDense: false, dueAt: [], last };
  api.outlooks = async () => ({ now: SERVER_NOW, schedules: [outlook] });
  const page = await openPage(api, '#/schedules');
  const starts = screen
    .getAllByRole('row')
    .flatMap((row) => row.querySelector('[data-label="Starts"]')?.textContent?.trim() ?? []);
  expect(starts).toEqual(['report the oldest event waits for 8 minanother event of the type', 'mail']);
  page.close();
});

test('a schedule whose last event failed stands first, and says so in the line of the next 12 hours', async () => {
  const api = createFakeApi([]);
  const { introspection } = api;
  const names = ['count', 'export'];
  api.introspection = async (...args) => {
    const response = await introspection(...args);
    const schedule = { service: 'shop', everyMs: 3_600_000, emit: 'due', catchUp: 'last' as const, processes: 1 };
    const schedules = names.map((name) => ({ ...schedule, name }));
    return { ...response, introspection: { ...response.introspection, schedules } };
  };
  api.outlooks = async () => ({
    now: SERVER_NOW,
    schedules: names.map((name) => ({
      ...{ service: 'shop', name, isDense: false, dueAt: [SERVER_NOW + 600_000] },
      last: { id: name, kind: 'event' as const, status: name === 'export' ? 'failed' : 'completed' },
    })),
  });
  const page = await openPage(api, '#/schedules');
  expect(screen.getAllByRole('rowheader').map(({ textContent }) => textContent)).toEqual(['exportshop', 'countshop']);
  const lanes = within(screen.getByRole('region', { name: /^Next 12 h/ })).getAllByText('1 times', { exact: false });
  const laneTexts = lanes.map((lane) => lane.closest('li')?.textContent?.replace(/ \d+ times.*/, ''));
  expect(laneTexts).toEqual([' count', 'Failed export']);
  await page.click(screen.getByRole('button', { name: 'Schedule' }));
  expect(screen.getAllByRole('rowheader')[0]?.textContent).toBe('countshop');
  page.close();
});
