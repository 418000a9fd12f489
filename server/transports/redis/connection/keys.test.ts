import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keyKinds, queueKey, redisKey } from './keys.js';

it('builds keys under the prefix', () => {
  expect(redisKey('{hub}', 'run', 'shop/a', 'e-1', 'checkpoints')).toBe('{hub}:run:shop/a:e-1:checkpoints');
  expect(queueKey('{hub}', 'shop')).toBe('{hub}:queue:shop:');
});

it('lists exactly the kinds of keys that scripts and clients use', () => {
  const folder = join(import.meta.dirname, '..');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:lua|ts)$/.test(file) && !/\.(?:test|generated)\.ts$/.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8'));
  const used = sources.flatMap((source) => [
    ...[...source.matchAll(/\bkey\('([^']+)'/g)].map((match) => match[1]),
    ...[...source.matchAll(/\bredisKey\([^,()]+, '([^']+)'/g)].map((match) => match[1]),
  ]);
  expect([...new Set(used)].sort()).toEqual([...keyKinds].sort());
});
