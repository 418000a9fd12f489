import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { expect } from 'vitest';

/** Sample of a parsed exposition. */
export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parsed exposition. */
export interface ParsedExposition {
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly ParsedSample[];
  /** Returns the only value with the labels; `undefined` if there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

const label = String.raw`[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"`;
const line = new RegExp(
  String.raw`^(# HELP [a-z_]+ [^\n]+|# TYPE [a-z_]+ (counter|gauge|histogram)|[a-z_]+(\{${label}(,${label})*\})? [-+.\de]+)$`,
);

/** Parses an exposition, and checks what the parser accepts but Prometheus does not. */
export function parseExposition(text: string): ParsedExposition {
  expect(text).toMatch(/\n$/);
  for (const each of text.slice(0, -1).split('\n')) expect(each).toMatch(line);
  const types = new Map<string, string>();
  for (const { name, type, help } of parsePrometheusTextFormat(text)) {
    expect([types.has(name), help === '']).toEqual([false, false]);
    types.set(name, type.toLowerCase());
  }
  // The parser drops the labels of a histogram, and keeps those of its parts if they are samples of their own.
  const samples = parsePrometheusTextFormat(text.replaceAll(/^# TYPE \w+ histogram\n/gm, '')).flatMap((family) =>
    family.metrics.map(({ labels = {}, value }) => ({ name: family.name, labels, value: Number(value) })),
  );
  const keys = samples.map(({ name, labels }) => JSON.stringify([name, labels]));
  expect(new Set(keys).size).toBe(keys.length);
  for (const { name, value } of samples) {
    expect(value).not.toBeNaN();
    if (types.get(name) === 'counter') expect(name).toMatch(/_total$/);
  }
  const parsed: ParsedExposition = {
    types,
    samples,
    value(name, labels = {}) {
      const found = samples.filter(
        (sample) => sample.name === name && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
      );
      expect(found.length).toBeLessThanOrEqual(1);
      return found[0]?.value;
    },
  };
  for (const [name, type] of types) if (type === 'histogram') checkHistogram(parsed, name);
  return parsed;
}

/** Checks that the buckets of each series ascend and end with the count. */
function checkHistogram({ samples, value }: ParsedExposition, name: string): void {
  const counts = samples.filter((sample) => sample.name === `${name}_count`);
  expect(counts).not.toEqual([]);
  for (const { labels, value: count } of counts) {
    const series = JSON.stringify(labels);
    const buckets = samples.flatMap((sample) => {
      const { le, ...rest } = sample.labels;
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
      return sample.name === `${name}_bucket` && JSON.stringify(rest) === series
        ? [[bound, sample.value] as const]
        : [];
    });
    const ascending = [...buckets].sort(([a], [b]) => a - b);
    expect(buckets).toEqual(ascending);
    expect(buckets.map(([, each]) => each)).toEqual(buckets.map(([, each]) => each).sort((a, b) => a - b));
    expect(buckets.at(-1)).toEqual([Number.POSITIVE_INFINITY, count]);
    expect(value(`${name}_sum`, labels)).toBeGreaterThanOrEqual(0);
  }
}
