import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LaunchOptions } from 'playwright';

const findingFile = fileURLToPath(new URL('../../.cache/browser.json', import.meta.url));

/** Returns the path of the browser that `npm run setup` found. @throws {Error} if it has not run yet */
export function findBrowser(): string {
  const executablePath = recallBrowser();
  if (executablePath === undefined) throw new Error('no browser is known yet: run "npm run setup" once');
  return executablePath;
}

/** Returns the path of the stored browser, or `undefined` if it no longer exists. */
export function recallBrowser(): string | undefined {
  if (!existsSync(findingFile)) return undefined;
  const finding: unknown = JSON.parse(readFileSync(findingFile, 'utf8'));
  return typeof finding === 'string' && existsSync(finding) ? finding : undefined;
}

/** Stores the path of a browser for later runs. */
export function rememberBrowser(executablePath: string): void {
  mkdirSync(dirname(findingFile), { recursive: true });
  writeFileSync(findingFile, JSON.stringify(executablePath));
}

/** Returns the launch options of Playwright on this machine. */
export function launchOptions(executablePath: string): LaunchOptions {
  // Chromium's sandbox does not start as root.
  return { executablePath, chromiumSandbox: process.getuid?.() !== 0 };
}
