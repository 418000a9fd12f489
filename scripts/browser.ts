import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LaunchOptions } from 'playwright';

const findingFile = fileURLToPath(new URL('../.cache/browser.json', import.meta.url));

/** The browser that `scripts/test-env.ts` found for the tests. @throws {Error} where it has found none yet */
export function findBrowser(): string {
  const executablePath = recallBrowser();
  if (executablePath === undefined) throw new Error('no browser is known yet: run "npx tsx scripts/test-env.ts" once');
  return executablePath;
}

/** The browser that was found last, where it is still there. */
export function recallBrowser(): string | undefined {
  if (!existsSync(findingFile)) return undefined;
  const finding: unknown = JSON.parse(readFileSync(findingFile, 'utf8'));
  return typeof finding === 'string' && existsSync(finding) ? finding : undefined;
}

/** Keeps a finding for the runs to come. */
export function rememberBrowser(executablePath: string): void {
  mkdirSync(dirname(findingFile), { recursive: true });
  writeFileSync(findingFile, JSON.stringify(executablePath));
}

/** How Playwright starts a browser here. */
export function launchOptions(executablePath: string): LaunchOptions {
  // Chromium's sandbox refuses to work for root.
  return { executablePath, chromiumSandbox: process.getuid?.() !== 0 };
}
