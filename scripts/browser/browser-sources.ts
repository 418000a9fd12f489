import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright';
import { aptGet } from '../may-install.js';
import { type CommandEnd, runCommand } from '../run-command.js';

/** Source of a browser. */
export interface BrowserSource {
  readonly name: string;
  /** True if `candidates` takes long. */
  readonly isSlow?: boolean;
  /**
   * Returns paths to try, best first.
   *
   * @throws {Error} if the source fails
   */
  candidates(): Promise<readonly string[]>;
}

const installTimeoutMs = 600_000;

const systemNames = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

const macApplications = ['Google Chrome.app/Contents/MacOS/Google Chrome', 'Chromium.app/Contents/MacOS/Chromium'];

/** Returns all sources: first those that cost nothing, last those that install software. */
export function browserSources(env: NodeJS.ProcessEnv): readonly BrowserSource[] {
  const { CHROME_PATH } = env;
  const playwrights = async (): Promise<string[]> => existing([chromium.executablePath()]);
  const systems = async (): Promise<string[]> => existing(systemPaths(env));
  return [
    { name: '$CHROME_PATH', candidates: async () => (CHROME_PATH ? [CHROME_PATH] : []) },
    { name: "Playwright's own", candidates: playwrights },
    { name: 'the system', candidates: systems },
    {
      name: 'npx playwright install chromium',
      isSlow: true,
      async candidates() {
        check(await runCommand('npx', ['playwright', 'install', 'chromium'], installTimeoutMs));
        return playwrights();
      },
    },
    {
      name: 'the package manager',
      isSlow: true,
      async candidates() {
        await installSystemBrowser(process.platform);
        return systems();
      },
    },
  ];
}

function systemPaths({ PATH = '', HOME = '' }: NodeJS.ProcessEnv): string[] {
  const onPath = PATH.split(delimiter).flatMap((folder) => systemNames.map((name) => join(folder, name)));
  const onMac = ['/Applications', join(HOME, 'Applications')].flatMap((folder) =>
    macApplications.map((application) => join(folder, application)),
  );
  return [...onPath, '/usr/bin/chromium', '/snap/bin/chromium', '/opt/google/chrome/chrome', ...onMac];
}

function existing(paths: readonly string[]): string[] {
  return [...new Set(paths)].filter((path) => existsSync(path));
}

async function installSystemBrowser(platform: NodeJS.Platform): Promise<void> {
  if (platform === 'darwin') {
    check(await runCommand('brew', ['install', '--cask', 'google-chrome'], installTimeoutMs));
    return;
  }
  const [command = '', ...args] = process.getuid?.() === 0 ? aptGet : ['sudo', '-n', ...aptGet];
  // The update fails while another process updates the list; the list may be recent enough.
  const updated = await runCommand(command, [...args, 'update'], installTimeoutMs);
  const install = [...args, 'install', '-y', '--no-install-recommends', 'chromium'];
  const installed = await runCommand(command, install, installTimeoutMs);
  if (!installed.ok) check(updated);
  check(installed);
}

function check({ ok, lastLines }: CommandEnd): void {
  if (!ok) throw new Error(lastLines);
}
