import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startHub } from '../testing/start-hub.js';
import { createScanHub, scanned } from './large-values.js';

test('scans and texts of a megabyte are files of a folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-scans-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const hub = createScanHub(folder, async (page) => page.toLowerCase());
  await startHub(hub);
  const page = 'A'.repeat(1_000_000);
  await hub.emit(scanned, { contract: 'C-1', pages: [page, 'B'] }, { requestId: 'r-1' });
  const ended = await vi.waitFor(async () => {
    const { events } = await hub.getRequest('r-1');
    const [run] = events;
    expect(run?.status).toBe('completed');
    return run;
  });
  expect(await hub.workflowHandle('read-contract', String(ended?.id)).result()).toEqual({
    contract: 'C-1',
    text: `${page.toLowerCase()}\nb`,
  });
  expect(readdirSync(folder)).toHaveLength(3);
  await hub.erase({ requestId: 'r-1' });
  expect(readdirSync(folder)).toEqual([]);
});
