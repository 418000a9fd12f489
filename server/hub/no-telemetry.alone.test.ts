import { createRequire } from 'node:module';
import { expect, it, vi } from 'vitest';
import { testHub } from './hub.fixture.js';

const isLoaded = (): boolean =>
  Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('@opentelemetry'));

it('loads OpenTelemetry only after an SDK is registered, and reports from then on', async () => {
  const { hub } = testHub();
  hub.event({ type: 'ordered', handler: () => {} });
  await hub.start();
  await hub.emit('ordered', null);
  expect(isLoaded()).toBe(false);

  const { recordTelemetry } = await import('../testing/record-telemetry.fixture.js');
  const telemetry = recordTelemetry();
  await vi.waitFor(async () => {
    await hub.emit('ordered', null);
    expect(telemetry.tree()).toContain('send ordered');
  });
});
