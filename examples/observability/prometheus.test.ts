import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../scripts/listen-locally.js';
import { type ParsedExposition, parseExposition } from '../../server/testing/exposition.fixture.js';
import { startExample } from '../testing/start-example.js';
import { expressApp, honoApp } from './prometheus-routes.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const rules = parse(readFileSync(join(import.meta.dirname, 'prometheus-alerts.yml'), 'utf8')).groups.flatMap(
  (group: { rules: readonly Rule[] }) => group.rules,
) as readonly Rule[];

test('a scrape reads exact counts, and the metrics that the alerts name', async () => {
  const example = startExample('observability/prometheus.ts', { env: { PORT: String(await freePort()) } });
  const url = await example.url;
  const scrape = async (): Promise<ParsedExposition> => {
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    return parseExposition(await response.text());
  };
  const labels = { service: 'hub', kind: 'event', name: 'card.charged' };
  const counts = async () => {
    const { value } = await scrape();
    const names = ['received_total', 'completed_total', 'failed_total', 'retried_total', 'pending', 'dead_letters'];
    return names.map((name) => value(`hubline_${name}`, labels));
  };
  const settled = [3, 2, 1, 1, 0, 1];
  await vi.waitFor(async () => expect(await counts()).toEqual(settled));
  expect(await Promise.all([counts(), counts(), counts()])).toEqual([settled, settled, settled]);
  expect((await fetch(new URL('/', url))).status).toBe(404);

  const { samples } = await scrape();
  const labelsOf = new Map(samples.map((sample) => [sample.name, ['job', ...Object.keys(sample.labels)]]));
  for (const { alert, expr, labels: extra, annotations } of rules) {
    expect([alert, syntaxErrors(expr)]).toEqual([alert, 0]);
    expect(extra.severity).toMatch(/^(page|ticket)$/);
    const named = expr.match(/hubline_\w+/g) ?? [];
    expect([alert, named.length > 0, named.filter((name) => !labelsOf.has(name))]).toEqual([alert, true, []]);
    const known = named.flatMap((name) => labelsOf.get(name) ?? []);
    const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g), ...expr.matchAll(/\b(service|kind|name|le)\b/g)];
    expect([alert, used.map(([, label = '']) => label).filter((label) => !known.includes(label))]).toEqual([alert, []]);
  }
  expect(rules.length).toBeGreaterThan(5);
  expect((await example.stop()).exitCode).toBe(0);
});

test('a route of Express and one of Hono serve the same text', async () => {
  const server = expressApp.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  for (const response of [await fetch(`http://127.0.0.1:${port}/metrics`), await honoApp.request('/metrics')]) {
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const { value } = parseExposition(await response.text());
    expect(value('hubline_received_total', { name: 'card.charged' })).toBe(0);
  }
});

function syntaxErrors(query: string): number {
  let errors = 0;
  parser.parse(query).iterate({
    enter: ({ type }) => {
      if (type.isError) errors += 1;
    },
  });
  return errors;
}
