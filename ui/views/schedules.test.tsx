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

test('a schedule whose event type is stuck says so', async () => {
  const api = createFakeApi([]);
  const { introspection } = api;
  api.introspection = async (...args) => {
    const response = await introspection(...args);
    const schedule = { service: 'shop', cron: '0 3 * * *', catchUp: 'last' as const, processes: 1 };
    const schedules = ['report', 'mail'].map((emit) => ({ ...schedule, name: `nightly ${emit}`, emit }));
    const stuck = { kind: 'oldest-pending', severity: 'warning', since: SERVER_NOW - 480_000 } as const;
    const health = { ...response.introspection.health, problems: [{ ...stuck, eventType: 'report' }] };
    return { ...response, introspection: { ...response.introspection, schedules, health } };
  };
  const page = await openPage(api, '#/schedules');
  const starts = screen
    .getAllByRole('row')
    .flatMap((row) => row.querySelector('[data-label="Starts"]')?.textContent?.trim() ?? []);
  expect(starts).toEqual(['mail', 'report the oldest event waits for 8 min']);
  page.close();
});
