import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test } from 'vitest';
import { checkReceipt, createAuditor } from './media.js';

test('the model receives the upload, the terms and the earlier receipt', async () => {
  const folder = await mkdtemp(`${tmpdir()}/receipts-`);
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(`${folder}/7.png`, 'earlier');
  const provider = scriptedProvider([{ toolCalls: [{ name: 'receipt', arguments: { number: 7 } }] }, 'Yes, and yes.']);
  const upload = new File(['upload'], 'receipt.png', { type: 'image/png' });
  expect(await checkReceipt(createAuditor(provider, folder), upload)).toBe('Yes, and yes.');
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const [, question, , result] = provider.calls[1]?.messages ?? [];
  expect(question?.parts).toEqual([
    { type: 'text', text: expect.stringContaining('within our terms') },
    { type: 'image', mediaType: 'image/png', data: base64('upload') },
    { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/terms.pdf' },
  ]);
  expect(result?.content).toBe('Receipt 7\n[image: image/png, 7 bytes]');
  expect(result?.parts?.[1]).toMatchObject({ data: base64('earlier') });
});
