import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, win32 } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

const server = import.meta.dirname;
const files = readdirSync(server, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !/\.(test|fixture|test-d|generated)\.ts$|^testing|contract/.test(file),
);

/** Code that a system without POSIX does not run, and what to write. */
const posix: readonly (readonly [RegExp, string])[] = [
  [/import\.meta\.url\)\.pathname/, 'fileURLToPath: a pathname has a slash before the drive'],
  [/['"`](?:\/(?:tmp|dev|proc|etc|usr|var|bin)\b|~\/)/, 'os.tmpdir() or an option: the path exists on POSIX only'],
  [/\$\{\w*(?:path|file|folder|dir)\w*\}\/(?!\/)/i, 'path.join'],
  [/(?:path|file|folder|dir)\w*\.(?:split|lastIndexOf|endsWith|startsWith)\(['"`]\//i, 'node:path'],
  [/node:path\/posix|\bposix\./, 'node:path'],
  [/process\.(?:getuid|geteuid|getgid|setuid|umask|initgroups)\b(?!\?)/, 'a call only where the function exists'],
  [/\bspawn\w*\(\s*['"`](?:sh|bash|kill|ps|rm|cp)\b|shell:\s*true/, 'a function of Node'],
  [/SIG(?:USR1|USR2|STOP|CONT|WINCH|QUIT|PIPE)\b/, 'SIGINT, SIGTERM or a message: Windows has no such signal'],
  [/\b(?:mkfifo|flock)\(|\.sock['"`]/, 'what both systems have'],
];

function withoutComments(code: string): string {
  return code.replaceAll(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm, '');
}

function findingsIn(code: string): string[] {
  const bare = withoutComments(code);
  return posix.flatMap(([pattern, remedy]) => {
    const found = pattern.exec(bare)?.[0];
    return found === undefined ? [] : [`${found}: use ${remedy}`];
  });
}

describe('on Windows', () => {
  afterEach(() => {
    vi.doUnmock('node:path');
    vi.doUnmock('node:fs/promises');
    vi.resetModules();
    vi.unstubAllGlobals();
  });

  it('no source depends on POSIX', () => {
    expect(files.length).toBeGreaterThan(200);
    const found = files.flatMap((file) =>
      findingsIn(readFileSync(join(server, file), 'utf8')).map((finding) => `${file}: ${finding}`),
    );
    expect(found).toEqual([]);
  });

  it.each([
    ['new URL("./a", import.meta.url).pathname'],
    ["join('/tmp/hub')"],
    [['open(`', '{folder}/hub.db`)'].join('$')],
    ["path.split('/')"],
    ['process.getuid()'],
    ["spawn('sh', ['-c', line])"],
    ["process.on('SIGUSR2', dump)"],
  ])('the check finds %s', (code) => {
    expect(findingsIn(code)).toHaveLength(1);
  });

  it('the release of an application is looked up to the root of its drive', async () => {
    vi.doMock('node:path', () => ({ ...win32, default: win32 }));
    const { defaultRelease } = await import('./hub/introspection/releases.js');
    const [node = '', main] = process.argv;
    process.argv.splice(1, 1, 'C:\\app\\dist\\main.js');
    onTestFinished(() => void process.argv.splice(1, 1, main ?? node));
    expect(defaultRelease()).toBeUndefined();
  });

  it('files are backed up, and large values stored, where only writable files can be synced', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hubline-windows-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    // Its binary is that of the real platform.
    await import('@photostructure/sqlite');
    const { platform } = process;
    Object.defineProperty(process, 'platform', { value: 'win32' });
    onTestFinished(() => void Object.defineProperty(process, 'platform', { value: platform }));
    const synced: string[] = [];
    vi.doMock('node:fs/promises', async (importOriginal) => {
      const original = await importOriginal<typeof import('node:fs/promises')>();
      const open: typeof original.open = async (path, flags, mode) => {
        // Windows opens no folder, and syncs what may be written only.
        const isFolder = await original.stat(path).then(
          (found) => found.isDirectory(),
          () => false,
        );
        if (isFolder) throw Object.assign(new Error('EPERM: operation not permitted, open'), { code: 'EPERM' });
        const handle = await original.open(path, flags, mode);
        const { sync } = handle;
        handle.sync = async () => {
          if (flags === 'r') throw Object.assign(new Error('EPERM: operation not permitted, fsync'), { code: 'EPERM' });
          synced.push(String(path));
          await sync.call(handle);
        };
        return handle;
      };
      return { ...original, open };
    });
    const { sqliteTransport } = await import('./transports/sqlite/index.js');
    const { folderBlobs } = await import('./transports/blobs/folder-blobs.js');
    const { createHub } = await import('./hub/create-hub.js');
    const transport = sqliteTransport({ file: join(folder, 'hub.db') });
    const hub = createHub({ transport });
    await hub.transport.kv.set('a', 'b');
    await transport.backup(join(folder, 'copy.db'));
    const copy = createHub({ transport: sqliteTransport({ file: join(folder, 'copy.db') }) });
    expect(await copy.transport.kv.get('a')).toBe('b');
    for (const each of [hub, copy]) await each.stop();
    const blobs = folderBlobs(join(folder, 'blobs'));
    await blobs.put('value', Buffer.from('large'));
    expect(String(Buffer.from((await blobs.get('value')) ?? []))).toBe('large');
    expect(synced).toHaveLength(2);
  });
});
