import { readSync, statSync } from 'node:fs';
import { databaseSize } from './file-checks.js';

/** Detects that another program moved, deleted or shortened an open file or its log. */
export class FilePresence {
  readonly #files: readonly { readonly path: string; readonly ino: number }[];
  readonly #path: string;
  readonly #descriptor: number;
  #size: number;

  /** @param descriptor descriptor of the file, which stays open as long as the database */
  constructor(path: string, descriptor: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#files = [path, `${path}-wal`].map((each) => ({ path: each, ino: statSync(each).ino }));
    this.#size = statSync(path).size;
  }

  /** @throws {FileGoneError} if what is written would be lost at the next start */
  check(): void {
    for (const { path, ino } of this.#files) {
      if (statSync(path, { throwIfNoEntry: false })?.ino !== ino) throw new FileGoneError('deleted or replaced');
    }
    const { size } = statSync(this.#path);
    // SQLite itself shortens the file after it has written the new size into the header.
    if (size < this.#size && size < this.#sizeInHeader()) throw new FileGoneError('truncated');
    this.#size = size;
  }

  #sizeInHeader(): number {
    const header = Buffer.alloc(100);
    readSync(this.#descriptor, header, 0, header.length, 0);
    return databaseSize(header) ?? Number.POSITIVE_INFINITY;
  }
}

class FileGoneError extends Error {
  constructor(change: string) {
    super(`the file was ${change}`);
    this.name = 'FileGoneError';
  }
}
