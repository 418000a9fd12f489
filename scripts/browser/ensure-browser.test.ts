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

test('returns the first candidate that starts, and skips later sources', async () => {
  const log: string[] = [];
  const found = await ensureBrowser({
    sources: [source('first'), source('second', '/old', '/good', '/other'), broken('third', 'must not run')],
    launch: startsOnly('/good'),
    log: (line) => log.push(line),
    mayInstall: true,
  });
  expect(found).toBe('/good');
  expect(log).toEqual([]);
});

test('announces an installation before it begins, and continues if it fails', async () => {
  const log: string[] = [];
  const found = await ensureBrowser({
    sources: [
      {
        name: 'download',
        isSlow: true,
        candidates() {
          log.push('download begins');
          return Promise.reject(new Error('unreachable'));
        },
      },
      source('system', '/good'),
    ],
    launch: startsOnly('/good'),
    log: (line) => log.push(line),
    mayInstall: true,
  });
  expect(found).toBe('/good');
  expect(log).toEqual([
    'No browser found. Installing one with download. HUBLINE_NO_INSTALL=1 prints instructions instead.',
    'download begins',
  ]);
});

test('installs nothing if that is forbidden, and prints instructions', async () => {
  const log: string[] = [];
  const search = ensureBrowser({
    sources: [source('the system'), broken('download', 'must not run')],
    launch: startsOnly('/good'),
    log: (line) => log.push(line),
    mayInstall: false,
  });
  await expect(search).rejects.toThrow(/none was found that starts\nInstall one \(Debian: apt-get install chromium;/);
  await expect(search).rejects.not.toThrow('must not run');
  expect(log).toEqual([]);
});

test('lists all attempts and the instructions if nothing starts', async () => {
  const search = ensureBrowser({
    sources: [source('$CHROME_PATH', '/old'), source('the system'), broken('download', 'unreachable\nat host')],
    launch: startsOnly('/good'),
    log: () => {},
    mayInstall: true,
  });
  await expect(search).rejects.toThrow(
    'none was found that starts:\n' +
      '  - $CHROME_PATH: /old does not start: Failed to launch\n' +
      '  - download: unreachable\n    at host\n' +
      'Install one (Debian: apt-get install chromium; macOS: brew install --cask google-chrome), or set CHROME_PATH',
  );
});
