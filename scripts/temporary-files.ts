import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** Collects the temporary files of all tests in one folder, which it removes at the end, whatever ended their processes. */
export default function setUp(): () => void {
  const prefix = 'hubline-tests-';
  // Another project of the same run did it. Names of sockets must stay short.
  if (basename(tmpdir()).startsWith(prefix)) return () => {};
  const folder = mkdtempSync(join(tmpdir(), prefix));
  // Postgres runs as another user.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
