import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeLicenses } from './bundled-licenses.js';

const zod = { name: 'zod', version: '4.1.0', license: 'MIT', texts: ['MIT License of zod'] };
const openai = {
  name: '@ai-sdk/openai',
  version: '3.0.1',
  license: 'Apache-2.0',
  texts: ['Copyright 2023 Vercel, Inc.'],
};

it('lists the packages with their licenses, and the Apache License once', () => {
  const utils = { ...openai, name: '@ai-sdk/provider-utils', texts: [] };
  const [, ...sections] = describeLicenses([zod, utils, openai]).split(`\n\n${'-'.repeat(80)}\n\n`);
  expect(sections).toEqual([
    '@ai-sdk/openai 3.0.1 (Apache-2.0)\n\nCopyright 2023 Vercel, Inc.',
    '@ai-sdk/provider-utils 3.0.1 (Apache-2.0)',
    'zod 4.1.0 (MIT)\n\nMIT License of zod',
    readFileSync(new URL('apache-2.0.txt', import.meta.url), 'utf8'),
  ]);
});

it('omits the Apache License if no package has it', () => {
  expect(describeLicenses([zod])).not.toContain('Apache License');
});

it('refuses two versions of a package', () => {
  const other = { ...zod, version: '4.2.0' };
  expect(() => describeLicenses([zod, openai, other])).toThrow('4.1.0 and 4.2.0 of zod would be bundled');
});

it('refuses a package without a license', () => {
  expect(() => describeLicenses([{ ...zod, texts: [] }])).toThrow('zod@4.1.0 has no license file');
});
