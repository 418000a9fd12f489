import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { read } from '../testing/documents.js';
import { proofs } from '../testing/proofs.js';
import { startExample } from '../testing/start-example.js';

test.each(proofs)('$claim', async ({ file, prints }) => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-proof-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = { HUB_FILE: join(folder, 'hub.db') };
  expect(await startExample(file, { env }).ended).toEqual({ exitCode: 0, stdout: prints, stderr: '' });
});

test('every program is a proof of the page, which shows what it prints', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => !name.endsWith('.test.ts'));
  expect(files.map((name) => `proofs/${name}`).sort()).toEqual(proofs.map(({ file }) => file).sort());
  const page = read('docs/proofs.md');
  for (const { file, prints } of proofs) {
    expect(page).toContain(`](../examples/${file})`);
    expect(page).toContain(`\`\`\`text\n${prints}\`\`\``);
  }
});
