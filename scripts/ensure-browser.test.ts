import { expect, test } from 'vitest';
import type { BrowserSource } from './browser-sources.js';
import { ensureBrowser } from './ensure-browser.js';

const source = (name: string, ...paths: string[]): BrowserSource => ({ name, candidates: async () => paths });

const broken = (name: string, message: string): BrowserSource => ({
  name,
  isSlow: true,
  candidates: () => Promise.reject(new Error(message)),
});

function startsOnly(path: string): (executablePath: string) => Promise<void> {
  return async (executablePath) => {
    if (executablePath !== path) throw new Error('Failed to launch');
  };
}

test('takes the first candidate that starts, and asks no source after it', async () => {
  const log: string[] = [];
  const found = await ensureBrowser({
    sources: [source('first'), source('second', '/old', '/good', '/other'), broken('third', 'must not be asked')],
    launch: startsOnly('/good'),
    log: (line) => log.push(line),
  });
  expect(found).toBe('/good');
  expect(log).toEqual([]);
});

test('goes on where a source fails, and says what takes time', async () => {
  const log: string[] = [];
  const found = await ensureBrowser({
    sources: [broken('download', 'unreachable'), source('system', '/good')],
    launch: startsOnly('/good'),
    log: (line) => log.push(line),
  });
  expect(found).toBe('/good');
  expect(log).toEqual(['no browser yet, trying download ...']);
});

test('says all that was tried and the way out where nothing starts', async () => {
  const search = ensureBrowser({
    sources: [source('$CHROME_PATH', '/old'), source('the system'), broken('download', 'unreachable\nat host')],
    launch: startsOnly('/good'),
    log: () => {},
  });
  await expect(search).rejects.toThrow(
    'none could be had:\n' +
      '  - $CHROME_PATH: /old does not start: Failed to launch\n' +
      '  - download: unreachable\n    at host\n' +
      'Install one (Debian: apt-get install chromium; macOS: brew install --cask google-chrome), or set CHROME_PATH',
  );
});
