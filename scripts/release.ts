/**
 * Checks that this commit can be released, and shows what npm would publish: `npm run release`. With `-- --publish` it
 * publishes, with provenance, and tags the commit; that needs a CI service that signs for it.
 *
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** State of a commit that is to be released. */
export interface ReleaseState {
  readonly version: string;
  /** `repository.url` of `package.json`, the one place that names where the project lives. */
  readonly repository: string;
  readonly changelog: string;
  /** Output of `git status --porcelain`. */
  readonly changes: string;
  readonly tags: readonly string[];
}

/** Returns each reason for which the commit cannot be released, with the way out. */
export function releaseProblems({ version, repository, changelog, changes, tags }: ReleaseState): string[] {
  const problems: string[] = [];
  if (repository.includes('example.com')) {
    problems.push(`package.json: repository.url is the placeholder ${repository}: fill in the address of the project`);
  }
  const [, date] = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - (.*)$`, 'm').exec(changelog) ?? [];
  if (date === undefined) {
    problems.push(`CHANGELOG.md has no heading "## [${version}] - YYYY-MM-DD": add it, or change the version`);
  } else if (!/^\d{4}-\d\d-\d\d$/.test(date)) {
    problems.push(`CHANGELOG.md: ${version} is dated ${JSON.stringify(date)}: write the date of the release`);
  }
  if (changes !== '') problems.push(`the working tree has changes: commit or stash them\n${changes.trimEnd()}`);
  if (tags.includes(`v${version}`)) problems.push(`the tag v${version} exists: raise the version in package.json`);
  return problems;
}

function readState(root: string): ReleaseState {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const { version, repository }: { version: string; repository: { url: string } } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  return {
    version,
    repository: repository.url,
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    changes: git('status', '--porcelain'),
    tags: git('tag').split('\n'),
  };
}

function release(args: readonly string[]): number {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const unknown = args.find((arg) => arg !== '--publish');
  if (unknown !== undefined) {
    console.error(`release: ${JSON.stringify(unknown)} is unknown; the only option is --publish`);
    return 2;
  }
  const isPublished = args.includes('--publish');
  const state = readState(root);
  const problems = releaseProblems(state);
  for (const problem of problems) console.error(`- ${problem}`);
  if (problems.length > 0 && isPublished) return 1;
  // Builds the package, by its script prepublishOnly. A dry run needs neither an account nor provenance.
  const options = isPublished ? ['--provenance'] : ['--dry-run'];
  const published = spawnSync('npm', ['publish', '--access', 'public', ...options], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (published.status !== 0) return published.status ?? 1;
  if (isPublished) execFileSync('git', ['tag', `v${state.version}`], { cwd: root });
  else if (problems.length === 0) console.log(`${state.version} can be released: npm run release -- --publish`);
  return problems.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = release(process.argv.slice(2));
