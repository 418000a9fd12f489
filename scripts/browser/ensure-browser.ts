import { optOutHint } from '../may-install.js';
import type { BrowserSource } from './browser-sources.js';

/** Dependencies of {@link ensureBrowser}. */
export interface BrowserSearch {
  /** Sources in the order of the search. */
  readonly sources: readonly BrowserSource[];
  /** Starts a candidate once. @throws {Error} if it does not start */
  readonly launch: (executablePath: string) => Promise<void>;
  /** Receives one line before each installation. */
  readonly log: (line: string) => void;
  /** `false` skips the sources that install a browser. */
  readonly mayInstall: boolean;
}

/**
 * Returns the path of the first browser that starts.
 *
 * @throws {Error} if none starts; the message lists the attempts and how to install one
 */
export async function ensureBrowser({ sources, launch, log, mayInstall }: BrowserSearch): Promise<string> {
  const failures: string[] = [];
  for (const { name, isSlow = false, candidates } of sources) {
    if (isSlow && !mayInstall) continue;
    if (isSlow) log(`No browser found. Installing one with ${name}. ${optOutHint}`);
    try {
      for (const executablePath of await candidates()) {
        const failure = await launch(executablePath).then(
          () => undefined,
          (error: unknown) => `${executablePath} does not start: ${firstLines(error)}`,
        );
        if (failure === undefined) return executablePath;
        failures.push(`${name}: ${failure}`);
      }
    } catch (error) {
      failures.push(`${name}: ${firstLines(error)}`);
    }
  }
  const tried = failures.map((failure) => `\n  - ${failure.replaceAll('\n', '\n    ')}`).join('');
  throw new Error(
    `the browser tests need Chromium or Chrome, and none was found that starts${tried === '' ? '' : `:${tried}`}\n` +
      'Install one (Debian: apt-get install chromium; macOS: brew install --cask google-chrome), ' +
      'or set CHROME_PATH to its executable.',
  );
}

// A browser that fails prints its whole command line and a stack.
function firstLines(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const lines = message.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '' && line.length <= 300)
    .slice(0, 4)
    .join('\n');
}
