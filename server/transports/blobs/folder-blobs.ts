import type { FileHandle } from 'node:fs/promises';
import { InvalidOptionError } from '../../errors.js';
import type { BlobStore } from './blob-store.js';

const validName = /^[\w-]{1,128}$/;

/**
 * Creates a blob store that has one file per value in a folder, which it creates with the mode 0700. Files have the mode
 * 0600, and are written to disk under another name first, so that no process reads half of one. For the processes of one
 * machine, or of several with a shared file system.
 *
 * @throws {InvalidOptionError}
 */
export function folderBlobs(path: string): BlobStore {
  if (typeof path !== 'string' || path === '') throw new InvalidOptionError('path of folderBlobs', 'a path', path);
  return {
    async put(name, data) {
      const { mkdir, open, rename, rm } = await import('node:fs/promises');
      const file = await fileOf(path, name);
      await mkdir(path, { recursive: true, mode: 0o700 });
      const written = `${file}.${crypto.randomUUID()}.tmp`;
      let handle: FileHandle | undefined;
      try {
        handle = await open(written, 'wx', 0o600);
        await handle.writeFile(data);
        await handle.sync();
        await handle.close();
        await rename(written, file);
      } catch (error) {
        await handle?.close().catch(() => {}); // it may be closed
        await rm(written, { force: true });
        throw error;
      }
    },
    async get(name) {
      const { readFile } = await import('node:fs/promises');
      try {
        return await readFile(await fileOf(path, name));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    async delete(name) {
      const { rm } = await import('node:fs/promises');
      await rm(await fileOf(path, name), { force: true });
    },
  };
}

/** Returns the file of a value. A name cannot leave the folder. */
async function fileOf(path: string, name: string): Promise<string> {
  const { resolve } = await import('node:path');
  if (!validName.test(name)) throw new InvalidOptionError('name of a blob', 'letters, digits, _ and -', name);
  return resolve(path, name);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
