import { expect, it, vi } from 'vitest';
import { loadOpenTelemetry, openTelemetry } from './telemetry.js';

vi.mock('@opentelemetry/api', () => {
  throw new Error('Cannot find package');
});

it('warns once if an SDK is registered and the API cannot be loaded', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  expect(loadOpenTelemetry()).toBeUndefined();
  Object.assign(globalThis, { [Symbol.for('opentelemetry.js.api.1')]: { version: '1.9.1' } });
  await loadOpenTelemetry();
  expect(loadOpenTelemetry()).toBeUndefined();
  expect(openTelemetry()).toBeUndefined();
  expect(warn.mock.calls).toEqual([[expect.stringContaining('npm install @opentelemetry/api')]]);
});
