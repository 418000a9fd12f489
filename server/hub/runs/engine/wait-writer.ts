import type { WriterCallbacks } from './entry-writer.js';
import { entryKey, writePatches } from './replay/run-entry.js';
import { createWaits } from './steps/create-waits.js';
import type { StepHost } from './steps/requested-step.js';

/** Stores the waits and patches of one delivery of a run, before any later step starts. */
export class WaitWriter {
  readonly #run: StepHost;
  readonly #callbacks: WriterCallbacks;
  readonly #patches: string[] = [];
  #isStoring = false;

  constructor(run: StepHost, callbacks: WriterCallbacks) {
    this.#run = run;
    this.#callbacks = callbacks;
  }

  /** A wait or a patch is being stored. */
  get isStoring(): boolean {
    return this.#isStoring;
  }

  /** Patches have to be stored before the next step starts. */
  get hasPatches(): boolean {
    return this.#patches.length > 0;
  }

  addPatch(id: string): void {
    this.#patches.push(id);
  }

  /** Stores all patches, and the waits of the steps that are next. Never rejects. */
  async store(): Promise<void> {
    const { delivery, replay, workflow } = this.#run;
    this.#isStoring = true;
    try {
      if (this.#patches.length > 0) {
        const id = String(replay.entries.size);
        const key = entryKey({ role: 'patches', generation: delivery.envelope.replays, id, attempt: 0 });
        await this.#run.record(key, writePatches({ version: workflow.version, names: this.#patches.splice(0) }));
      }
      const waits = await createWaits(this.#run);
      if (waits.length > 0 && !this.#run.isOver && (await delivery.wait(waits)) === 'fenced') {
        this.#callbacks.onFenced();
      }
    } catch (error) {
      this.#callbacks.onError(error);
    } finally {
      this.#isStoring = false;
      this.#callbacks.onEnd();
    }
  }
}
