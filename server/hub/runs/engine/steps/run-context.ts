import type { Logger } from '../../../../transports/logger.js';
import type { RunCtx, Step } from '../../definition/step.js';

/**
 * Context of a run's function. Creates the abort controller and the logger on first access. A class, because V8 creates
 * the getters of an object literal in its old generation, and with them the run outlives its end.
 */
export class RunContext implements RunCtx {
  readonly input: unknown;
  readonly step: Step;
  readonly runId: string;
  readonly requestId: string;
  readonly #createLogger: () => Logger;
  #logger: Logger | undefined;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;

  constructor(fields: Pick<RunCtx, 'input' | 'step' | 'runId' | 'requestId'>, createLogger: () => Logger) {
    this.input = fields.input;
    this.step = fields.step;
    this.runId = fields.runId;
    this.requestId = fields.requestId;
    this.#createLogger = createLogger;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get logger(): Logger {
    this.#logger ??= this.#createLogger();
    return this.#logger;
  }

  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }
}
