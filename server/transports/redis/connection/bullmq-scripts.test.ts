import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { UnsupportedVersionError } from '../redis-errors.js';
import { adaptScript, supportedBullmq } from './bullmq-scripts.js';

const { moveToActive } = createRequire(import.meta.url)('bullmq/dist/cjs/scripts') as {
  moveToActive: { content: string };
};

describe('adaptScript', () => {
  it('knows moveToActive of the installed BullMQ, and passes it the time of the server', () => {
    const adapted = adaptScript('moveToActive:6.7.0', moveToActive.content);
    expect(adapted).toContain("ARGV[2] = string.format('%.0f', serverNow)");
    expect(adapted).toContain(moveToActive.content);
  });

  it('rejects another moveToActive with the supported version', () => {
    const adapt = () => adaptScript('moveToActive:6.8.0', `${moveToActive.content} `);
    expect(adapt).toThrow(UnsupportedVersionError);
    expect(adapt).toThrow(`install bullmq@${supportedBullmq}`);
  });

  it('does not depend on the text of other scripts', () => {
    expect(adaptScript('extendLocks:6.7.0', 'return 1')).toMatch(/return 1$/);
  });

  it('supports the versions that package.json allows', () => {
    const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(peerDependencies.bullmq).toBe(`~${supportedBullmq}.0`);
  });
});
