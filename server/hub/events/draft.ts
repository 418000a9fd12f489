import { toRecorded } from '../../transports/envelope.js';
import type { Envelope } from '../../transports/transport.js';
import type { EmitOptions } from './emit.js';
import type { Snapshot } from './payloads/snapshot.js';

/** Event, run or step that causes events. */
export type Cause = Pick<Envelope, 'id' | 'requestId' | 'depth' | 'trace'>;

/**
 * Event or run before it has an id. Whoever publishes it fills in the id, the `requestId` if it is empty, and the key:
 * setting them costs less than a copy.
 */
export class Draft implements Envelope {
  id = '';
  readonly type: string;
  requestId: string;
  readonly depth: number;
  readonly delayMs: number;
  readonly priority: number;
  readonly replays = 0;
  readonly dedupe: Envelope['dedupe'];
  readonly trace: Envelope['trace'];
  key: string | undefined;
  readonly causeId: string | undefined;
  readonly #payload: Snapshot;

  /**
   * @param options options of `emit`
   * @param dedupeWindowMs deduplication window of the type, in milliseconds
   * @param causedBy causing event; overrides `options.cause`
   */
  constructor(
    type: string,
    payload: Snapshot,
    options: EmitOptions,
    dedupeWindowMs: number,
    causedBy: Cause | undefined,
  ) {
    const { delayMs = 0, priority = 0, dedupeId, requestId } = options;
    const cause = causedBy ?? causeOf(options);
    this.type = type;
    this.requestId = requestId ?? cause?.requestId ?? '';
    this.depth = cause === undefined ? 0 : cause.depth + 1;
    this.delayMs = delayMs;
    this.priority = priority;
    this.dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
    this.trace = cause?.trace;
    this.causeId = cause?.id;
    this.#payload = payload;
  }

  /** Returns the payload of an event, which the caller may change. @throws {SyntaxError} if the body is not JSON */
  static takePayload(envelope: Envelope): unknown {
    return #payload in envelope ? envelope.#payload.take() : JSON.parse(envelope.body);
  }

  get body(): string {
    return this.#payload.json;
  }

  size(): number {
    return this.#payload.size;
  }

  pack(): void {
    this.#payload.pack();
  }

  /** Returns the envelope for `JSON.stringify`, which ignores the accessor of the body. */
  toJSON(): Envelope {
    return toRecorded(this);
  }

  /** Sets the id. An event from outside belongs to the request that has its own id. */
  identify(id: string): Envelope {
    this.id = id;
    if (this.requestId === '') this.requestId = id;
    return this;
  }
}

function causeOf({ cause }: EmitOptions): Cause | undefined {
  return cause && { id: cause.eventId, requestId: cause.requestId, depth: cause.depth };
}
