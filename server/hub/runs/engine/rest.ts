import { AsyncResource } from 'node:async_hooks';

// A function that it calls costs less than one of `queueMicrotask`, which creates an AsyncResource.
const microtask = Promise.resolve();

/** Calls a function in the context of its creation when the code of a run has come to rest. */
export class Rest {
  readonly #onRest: () => void;
  /** Entries are recorded in the contexts of other runs and of timers. */
  readonly #resource = new AsyncResource('hubline.run');
  #isScheduled = false;

  constructor(onRest: () => void) {
    this.#onRest = onRest;
  }

  /** Calls the function once, however often it is scheduled before. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    void microtask.then(this.#wait);
  }

  // A tick that a microtask asks for runs when no microtask is left: the function then waits for steps alone.
  readonly #wait = (): void => process.nextTick(this.#call);

  readonly #call = (): void => {
    this.#isScheduled = false;
    this.#resource.runInAsyncScope(this.#onRest);
  };
}
