import { expect, test } from 'vitest';
import { startExample } from '../testing/start-example.js';

test('prints the spans and metrics of an event that an agent handles', async () => {
  const { exitCode, stdout, stderr } = await startExample('observability/tracing.ts').ended;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const names = [...stdout.matchAll(/^ {2}name: '(.+)'/gm)].map(([, name]) => name);
  expect(names.sort()).toEqual([
    'chat gpt-4o-mini',
    'chat gpt-4o-mini',
    'execute_tool ask_carrier',
    'invoke_agent tracker',
    'process parcel.missed',
    'send customer.answered',
    'send parcel.missed',
  ]);
  const traces = new Set([...stdout.matchAll(/^ {2}traceId: '(.+)'/gm)].map(([, id]) => id));
  expect(traces.size).toBe(1);
  expect(stdout).toContain("'hubline.events.completed'");
  expect(stdout).toContain("'gen_ai.client.token.usage'");
});
