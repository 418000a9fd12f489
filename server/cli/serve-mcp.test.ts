import { rmSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { newStoreFile } from '../testing/stores.fixture.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import { buildCommandLine, type CommandLine } from './command-line.fixture.js';
import { createProgram } from './command-line.js';
import { toolCommands } from './commands/serve-mcp.js';

let commandLine: CommandLine;
beforeAll(async () => {
  commandLine = await buildCommandLine();
});
afterAll(() => commandLine.remove());

const reads = ['audit', 'dead-letters', 'errors', 'events', 'request', 'search', 'show', 'status', 'why'];

/** Starts a hub with a dead letter, and the official client with a server on its file. */
async function connect(...flags: readonly string[]): Promise<{ hub: Hub; id: string; client: Client }> {
  const file = newStoreFile();
  const hub = createHub({ service: 'shop', logger: false, transport: sqliteTransport({ file }) });
  hub.event({ type: 'paid', handler: () => Promise.reject(new Error('declined')) });
  await hub.start();
  const { id } = await hub.emit('paid', { card: '4242' });
  await vi.waitFor(async () => expect((await hub.metrics('paid')).deadLetters).toBe(1));
  const client = new Client({ name: 'test', version: '1' });
  const args = [commandLine.program, 'mcp', '--file', file, '--timeout', '60', ...flags];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  onTestFinished(async () => {
    await client.close();
    await hub.stop({ drainMs: 0 });
    rmSync(file, { force: true });
  });
  return { hub, id, client };
}

it('offers the commands that read, and no payload', async () => {
  const { hub, id, client } = await connect();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).toSorted()).toEqual(reads);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  const shown = await client.callTool({ name: 'show', arguments: { ids: [id] } });
  expect(JSON.stringify(shown.content)).toContain('declined');
  expect(JSON.stringify(shown.content)).not.toContain('4242');
  for (const [name, input] of [
    ['show', { ids: [id], payload: true }],
    ['replay', { ids: [id] }],
    ['show', { ids: ['--payload', 'gone'] }],
  ] as const) {
    const refused = await client.callTool({ name, arguments: input });
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).not.toContain('4242');
  }
  expect(await hub.metrics('paid')).toMatchObject({ received: 1, deadLetters: 1 });
});

it('acts and shows payloads where it is allowed, and stands in the audit', async () => {
  const { hub, id, client } = await connect('--allow', 'replay', '--payload', '--by', 'assistant');
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).toSorted()).toEqual([...reads, 'replay'].toSorted());
  const shown = await client.callTool({ name: 'show', arguments: { ids: [id], payload: true } });
  expect(JSON.stringify(shown.content)).toContain('4242');
  const replayed = await client.callTool({ name: 'replay', arguments: { ids: [id], reason: 'bank is back' } });
  expect(replayed.isError).toBe(false);
  await vi.waitFor(async () => expect((await hub.metrics('paid')).received).toBe(2));
  expect(await hub.audit()).toMatchObject([
    { action: 'replay', by: 'assistant', via: 'mcp', reason: 'bank is back', target: { id } },
  ]);
});

it('knows of each command whether it reads or acts', () => {
  const names = createProgram(async () => {}).commands.map((command) => command.name());
  expect(Object.keys(toolCommands).toSorted()).toEqual(names.toSorted());
});
