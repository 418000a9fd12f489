import { abortable } from '../abortable.js';

/** Lets the runs of one process use a conversation one after another, in order of arrival. */
export class RunQueue {
  readonly #last = new Map<string, Promise<void>>();

  /** Waits for the earlier runs of the conversation, and returns a function that lets the next one start. */
  async enter(conversation: string, signal: AbortSignal | undefined): Promise<() => void> {
    const ahead = this.#last.get(conversation);
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const own = ahead === undefined ? released : ahead.then(() => released);
    this.#last.set(conversation, own);
    void own.then(() => {
      if (this.#last.get(conversation) === own) this.#last.delete(conversation);
    });
    if (ahead === undefined) return release;
    try {
      await abortable(ahead, signal);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }
}
