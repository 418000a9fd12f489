import { cloneJson } from './clone-json.js';

/** Size of JSON in bytes above which a snapshot is packed at once. */
const maxValueSize = 8_192;

/** Payload of an event as it was emitted. Holds a value of JSON types, and makes the JSON when it is first read. */
export class Snapshot {
  /** Size of the JSON in bytes of UTF-8. */
  readonly size: number;
  #value: unknown;
  #json: string | undefined;

  /**
   * @param value what parsing the JSON returns, and nobody else refers to; `undefined` if there is only the JSON
   * @param size size of the JSON in bytes of UTF-8
   * @param json needed if there is no value
   */
  constructor(value: unknown, size: number, json?: string) {
    this.#value = value;
    this.size = size;
    this.#json = json;
    if (size > maxValueSize) this.pack();
  }

  static ofJson(json: string): Snapshot {
    return new Snapshot(undefined, Buffer.byteLength(json), json);
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.#value);
    return this.#json;
  }

  /** Returns a copy of the payload. @throws {SyntaxError} if the JSON is invalid */
  copy(): unknown {
    return this.#value === undefined ? JSON.parse(this.json) : cloneJson(this.#value);
  }

  /** Returns a copy of the payload, or the value itself if the JSON suffices for all other readers. */
  take(): unknown {
    const value = this.#value;
    if (value === undefined || this.#json === undefined) return this.copy();
    this.#value = undefined;
    return value;
  }

  /** Keeps the JSON alone: a value takes several times its memory. */
  pack(): void {
    this.#json = this.json;
    this.#value = undefined;
  }
}
