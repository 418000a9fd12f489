import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { startPostgresServer } from '../../scripts/postgres-server.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import type { IntrospectionBody } from '../../server/dashboard/protocol.js';
import { type Example, startExample } from '../testing/start-example.js';
import { listenOn } from './listen.js';

// The tests must not call a paid model, even if an API key is set.
const env = { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '', GEMINI_API_KEY: '' };
const startShop = (...args: string[]): Example => startExample('shop/main.ts', { args, env });

async function introspect(url: string): Promise<IntrospectionBody> {
  const response = await fetch(`${url}api/introspection`);
  expect(response.status).toBe(200);
  // The tests of the handler check that the body has this type.
  return (await response.json()) as IntrospectionBody;
}

describe('the shop', () => {
  test('prints a working URL, has traffic, and exits with 0 on SIGTERM', async () => {
    const shop = startShop('--port', '0', '--rate', '200');
    const url = await shop.url;
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);

    const seen = async (): Promise<Set<string>> => {
      const { events } = await introspect(url);
      return new Set(events.filter(({ metrics }) => metrics.received > 0).map(({ type }) => type));
    };
    const chain = ['order.created', 'payment.requested', 'payment.captured', 'shipment.booked', 'invoice.requested'];
    await vi.waitFor(async () => expect([...(await seen())]).toEqual(expect.arrayContaining(chain)), 60_000);

    const orders = await fetch(`${url}api/events/order.created`);
    await expect(orders.json()).resolves.toMatchObject({ type: 'order.created', failed: 0 });
    const end = await shop.stop();
    const agents =
      'Agents answer from a script, offline. Set one of OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY to call a model.';
    expect(end).toEqual({ exitCode: 0, stdout: `Dashboard: ${url}\n${agents}\nCtrl+C stops the shop.\n`, stderr: '' });
  });

  test('its agents answer tickets and complaints and debate a price, and paid orders are fulfilled', async () => {
    const shop = startShop('--port', '0');
    const url = await shop.url;
    const completed = ({ metrics }: { metrics: { completed: number } }): boolean => metrics.completed > 0;
    await vi.waitFor(async () => {
      const { events, workflows, agents } = await introspect(url);
      const types = events.filter(completed).map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(['ticket.answered', 'complaint.answered', 'price.reviewed']));
      expect(workflows.filter(completed).map(({ name }) => name)).toEqual(['fulfil-order', 'answer-complaint']);
      expect(agents.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['support', 'courier-desk', 'growth', 'finance', 'chair', 'triage', 'draft', 'review']),
      );
    }, 60_000);
    const { events, workflows, agents } = await introspect(url);
    expect(events.find(({ type }) => type === 'ticket.opened')).toMatchObject({ agent: { model: 'rehearsed' } });
    expect(events.find(({ type }) => type === 'price.questioned')?.kind).toBe('debate');
    expect(workflows[1]?.steps.map(({ agent }) => agent)).toEqual(['triage', 'draft', 'review']);
    for (const name of ['chair', 'review']) {
      expect(agents.find((agent) => agent.name === name)?.tokenUsage.totalTokens).toBeGreaterThan(0);
    }
    expect(await shop.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('waits for the carrier, keeps the messages of a customer in order, and reports on schedule', async () => {
    const shop = startShop('--port', '0', '--rate', '20');
    const url = await shop.url;
    await vi.waitFor(async () => {
      const { events, workflows } = await introspect(url);
      const of = (name: string) => events.find(({ type }) => type === name);
      expect(of('report.due')?.metrics.completed).toBeGreaterThan(0);
      expect(of('parcel.collected')?.metrics.completed).toBeGreaterThan(0);
      expect(of('notification.sent')?.metrics.completed).toBeGreaterThan(0);
      expect(workflows.find(({ name }) => name === 'fulfil-order')?.metrics.completed).toBeGreaterThan(0);
    }, 60_000);
    expect(await shop.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test.each([
    ['--redis', startRedisServer],
    ['--postgres', startPostgresServer],
  ])('runs in three worker processes with %s, with the dashboard in a fourth', async (option, startServer) => {
    const server = await startServer();
    onTestFinished(() => server.release());
    const shop = startShop('--port', '0', '--rate', '60', option, server.url);
    const url = await shop.url;
    await vi.waitFor(async () => {
      const { events, workflows, agents } = await introspect(url);
      expect(events.find(({ type }) => type === 'order.created')).toMatchObject({ processes: 3 });
      expect(workflows.map(({ name, processes }) => [name, processes])).toContainEqual(['fulfil-order', 3]);
      expect(agents.map(({ name }) => name)).toContain('support');
      expect(events.find(({ type }) => type === 'shipment.booked')?.metrics.completed).toBeGreaterThan(0);
    }, 60_000);
    expect(await shop.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('goes on where it was killed, with --file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hubline-shop-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'shop.db');
    const received = async (url: string): Promise<number> => {
      const { events } = await introspect(url);
      return events.find(({ type }) => type === 'order.created')?.metrics.received ?? 0;
    };
    const killed = startShop('--port', '0', '--rate', '50', '--file', file);
    const url = await killed.url;
    await vi.waitFor(async () => expect(await received(url)).toBeGreaterThan(20), 60_000);
    const before = await received(url);
    await killed.stop('SIGKILL');

    const shop = startShop('--port', '0', '--rate', '0', '--file', file);
    expect(await received(await shop.url)).toBeGreaterThanOrEqual(before);
    expect(await shop.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('keeps exact counts while it kills its worker, with --kill', async () => {
    const shop = startShop('--port', '0', '--rate', '50', '--kill');
    const url = await shop.url;
    const orders = async (): Promise<number> => {
      const { events } = await introspect(url);
      for (const { type, metrics } of events) {
        const { received, completed, failed, pending } = metrics;
        expect([type, received]).toEqual([type, completed + failed + pending]);
      }
      return events.find(({ type }) => type === 'order.created')?.metrics.completed ?? 0;
    };
    await shop.printed('Killed worker');
    const before = await orders();
    await vi.waitFor(async () => expect(await orders()).toBeGreaterThan(before), 60_000);
    const { exitCode, stdout, stderr } = await shop.stop();
    expect([exitCode, stderr]).toEqual([0, '']);
    const line = /Killed .* (\d+) received = (\d+) completed \+ (\d+) failed \+ (\d+) pending/.exec(stdout) ?? [];
    const [received, completed = 0, failed = 0, pending = 0] = line.slice(1).map(Number);
    expect(received).toBe(completed + failed + pending);
  });

  test('emits nothing at --rate 0, and exits with 0 on SIGINT', async () => {
    const shop = startShop('--port', '0', '--rate', '0');
    const { events } = await introspect(await shop.url);
    expect(events.length).toBeGreaterThanOrEqual(8);
    // A schedule emits this one, with or without orders.
    const caused = events.filter(({ type }) => type !== 'report.due');
    expect(caused.every(({ metrics }) => metrics.received === 0)).toBe(true);
    expect(events.every(({ description }) => description !== undefined)).toBe(true);
    expect((await shop.stop('SIGINT')).exitCode).toBe(0);
  });

  test('listens on the given port', async () => {
    const port = await freePort();
    expect(await startShop('--port', String(port)).url).toBe(`http://127.0.0.1:${port}/`);
  });

  test('names a port that is in use, and exits with 1', async () => {
    const other = createServer();
    const { port } = new URL(await listenOn(other, 0));
    const end = await startShop('--port', port).ended;
    other.close();
    expect(end.exitCode).toBe(1);
    expect(end.stderr).toBe(`port ${port} is in use: choose another one with --port, or leave --port out\n`);
  });

  test('prints its usage', async () => {
    const { exitCode, stdout } = await startShop('--help').ended;
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/--port N[\s\S]*--rate N/);
  });

  test('refuses unknown arguments, and exits with 2', async () => {
    const { exitCode, stdout, stderr } = await startShop('--prot', '80').ended;
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/--prot[\s\S]*--port N/);
  });
});
