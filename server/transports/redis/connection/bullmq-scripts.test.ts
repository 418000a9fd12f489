import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { UnsupportedVersionError } from '../redis-errors.js';
import { adaptScript, supportedBullmq } from './connect-redis.js';

const { moveStalledJobsToWait } = createRequire(import.meta.url)('bullmq/dist/cjs/scripts') as {
  moveStalledJobsToWait: { content: string };
};

describe('adaptScript', () => {
  it('knows moveStalledJobsToWait of the installed BullMQ', () => {
    const { content } = moveStalledJobsToWait;
    expect(adaptScript('moveStalledJobsToWait:6.7.0', content)).toContain(content);
  });

  it('rejects another moveStalledJobsToWait with the supported version', () => {
    const adapt = () => adaptScript('moveStalledJobsToWait:6.8.0', `${moveStalledJobsToWait.content} `);
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
