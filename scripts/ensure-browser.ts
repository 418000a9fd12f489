import type { BrowserSource } from './browser-sources.js';

/** What {@link ensureBrowser} works with. */
export interface BrowserSearch {
  /** Where to look, in this order. */
  readonly sources: readonly BrowserSource[];
  /** Starts a candidate once. @throws {Error} why it does not start */
  readonly launch: (executablePath: string) => Promise<void>;
  /** Gets a line before a step that takes its time. */
  readonly log: (line: string) => void;
}

/**
 * The first browser that starts.
 *
 * @throws {Error} where none does, saying what was tried and what to do
 */
export async function ensureBrowser({ sources, launch, log }: BrowserSearch): Promise<string> {
  const failures: string[] = [];
  for (const { name, isSlow = false, candidates } of sources) {
    if (isSlow) log(`no browser yet, trying ${name} ...`);
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
  const tried = failures.map((failure) => `  - ${failure.replaceAll('\n', '\n    ')}`).join('\n');
  throw new Error(
    `the browser tests need Chromium or Chrome, and none could be had:\n${tried}\n` +
      'Install one (Debian: apt-get install chromium; macOS: brew install --cask google-chrome), ' +
      'or set CHROME_PATH to its executable.',
  );
}

// A browser that fails prints its whole command line, and a stack.
function firstLines(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const lines = message.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '' && line.length <= 300)
    .slice(0, 4)
    .join('\n');
}
