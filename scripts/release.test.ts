import { expect, it } from 'vitest';
import { type ReleaseState, releaseProblems } from './release.js';

const ready: ReleaseState = {
  version: '0.2.0',
  repository: 'git+https://code.invalid/hubline.git',
  changelog: '# Changelog\n\n## [0.2.0] - 2026-12-01\n\n## [0.1.0] - 2026-11-01\n',
  changes: '',
  tags: ['v0.1.0'],
};

it('a commit with a dated entry, an address and no changes can be released', () => {
  expect(releaseProblems(ready)).toEqual([]);
});

it.each<[string, Partial<ReleaseState>]>([
  ['package.json: repository.url is the placeholder', { repository: 'git+https://example.com/hubline.git' }],
  ['CHANGELOG.md has no heading "## [0.3.0] - YYYY-MM-DD"', { version: '0.3.0' }],
  ['CHANGELOG.md: 0.2.0 is dated "Unreleased"', { changelog: '## [0.2.0] - Unreleased\n' }],
  ['the working tree has changes: commit or stash them\n M a.ts', { changes: ' M a.ts\n' }],
  ['the tag v0.2.0 exists', { tags: ['v0.1.0', 'v0.2.0'] }],
])('%s', (message, change) => {
  expect(releaseProblems({ ...ready, ...change })).toEqual([expect.stringContaining(message)]);
});
