import { expect, it } from 'vitest';
import { runPeriods } from './retained-runs.js';

it('lists the releases of the services that run the workflow, each until the next one of its service', () => {
  const now = 10_000_000;
  const releases = [
    { service: 'shop', release: 'v1', startedAt: 1_000, endedAt: 5_000 },
    { service: 'mail', release: 'm1', startedAt: 2_000 },
    { service: 'shop', release: 'v2', startedAt: 5_000 },
  ];
  const ofReleases = (...services: string[]) =>
    runPeriods(releases, new Set(services), now)
      .slice(4)
      .map(({ label, from, to }) => [label.replace(/, .*/, ''), from, to]);
  expect(ofReleases('shop')).toEqual([
    ['Release v2', 5_000, undefined],
    ['Release v1', 1_000, 5_000],
  ]);
  expect(ofReleases('shop', 'mail').map(([label]) => label)).toEqual([
    'Release v2 of shop',
    'Release m1 of mail',
    'Release v1 of shop',
  ]);
  expect(ofReleases()).toEqual([]);
  expect(runPeriods([], new Set(), now).map(({ from }) => from)).toEqual([
    undefined,
    undefined,
    now - 3_600_000,
    now - 86_400_000,
  ]);
});
