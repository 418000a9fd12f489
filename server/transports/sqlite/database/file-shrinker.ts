import type { Commits } from './committer.js';
import type { Database, Statement } from './driver.js';
import type { Checkpoints } from './log-checkpoints.js';
import { readNumber } from './open-database.js';

const lookEveryMs = 500;
// Changed rows since the last look, up to which the owner has time for other work.
const maxIdleRows = 200;
// Unused pages of 4 KiB from which the file shrinks, and those that it keeps for the next events.
const [minUnusedPages, keptPages] = [1_024, 256] as const;
// A turn of the event loop moves as many.
const pagesPerCut = 32;
const pauseMs = 5;
/** Value of `PRAGMA auto_vacuum` of a file that can shrink. */
const incremental = 2;

/** Gives pages of the file that no event needs back to the disk, in small parts, while the owner has little to do. */
export class FileShrinker {
  readonly #database: Database;
  readonly #committer: Commits;
  readonly #checkpoints: Checkpoints;
  readonly #changes: Statement;
  // The disk does not see a fake clock.
  #timer: NodeJS.Timeout | undefined;
  #lastChanges = 0;
  /** Rows changed since the file shrank. */
  #hasChanged = true;
  #isClosed = false;

  constructor(database: Database, committer: Commits, checkpoints: Checkpoints) {
    this.#database = database;
    this.#committer = committer;
    this.#checkpoints = checkpoints;
    this.#changes = database.prepare('SELECT total_changes() AS changes');
    if (readNumber(database, 'PRAGMA auto_vacuum') === incremental) this.#lookLater();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.#look(), lookEveryMs);
    this.#timer.unref();
  }

  #look(): void {
    const rows = this.#rowsSinceLook();
    if (rows > 0) this.#hasChanged = true;
    if (rows > maxIdleRows || !this.#hasChanged) {
      this.#lookLater();
      return;
    }
    this.#hasChanged = false;
    if (this.#unusedPages() >= minUnusedPages) this.#shrink(0);
    else this.#lookLater();
  }

  /** @param pages number of pages that earlier cuts left unused, to find out if one has no effect */
  #shrink(pages: number): void {
    const unused = this.#unusedPages();
    const isBusy = this.#rowsSinceLook() > maxIdleRows;
    if (unused === pages || unused <= keptPages || isBusy) {
      this.#hasChanged = isBusy;
      this.#checkpoints.copy();
      this.#lookLater();
      return;
    }
    this.#committer
      .write(() => this.#database.exec(`PRAGMA incremental_vacuum(${pagesPerCut})`))
      .then(
        () => {
          if (this.#isClosed) return;
          this.#timer = setTimeout(() => this.#shrink(unused), pauseMs);
          this.#timer.unref();
        },
        // The committer reports a file that cannot be written.
        () => this.#lookLater(),
      );
  }

  #rowsSinceLook(): number {
    const changes = Number(this.#changes.get()?.['changes']);
    const rows = changes - this.#lastChanges;
    this.#lastChanges = changes;
    return rows;
  }

  #unusedPages(): number {
    try {
      return readNumber(this.#database, 'PRAGMA freelist_count');
    } catch {
      return 0;
    }
  }
}
