import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createForecaster } from './agent-tools.js';

test('the agent calls the weather tool, and answers', async () => {
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'weather', arguments: { city: 'Bergen', unit: 'kelvin' } }] },
    { toolCalls: [{ name: 'weather', arguments: { city: 'Bergen' } }] },
    'It rains in Bergen, at 12 degrees.',
  ]);
  const result = await createForecaster(provider).run('Do I need an umbrella in Bergen?');
  expect(result).toMatchObject({ status: 'completed', output: 'It rains in Bergen, at 12 degrees.' });
  expect(result.toolCalls[0]?.error).toContain('must be one of ["celsius","fahrenheit"]');
  expect(result.toolCalls[1]?.result).toEqual({ city: 'Bergen', unit: 'celsius', degrees: 12, sky: 'rain' });
  provider.assertDone();
});
