import { isName } from '../../options.js';
import { InvalidRequestError } from '../json-result.js';

/** The request is not one that the handler understands. */
export class InvalidActionError extends InvalidRequestError {
  constructor(message: string) {
    super('ERR_INVALID_ACTION', message);
  }
}

/** Reads the fields of an action's JSON. Every method throws {@link InvalidActionError}. */
export class ActionBody {
  readonly #fields: Readonly<Record<string, unknown>>;

  /** @param names fields that the action reads; others are refused, so that a misspelt one does not widen an action */
  constructor(value: unknown, names: readonly string[], subject = 'the body') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new InvalidActionError(`${subject} must be a JSON object`);
    }
    const fields = value as Readonly<Record<string, unknown>>; // an object has fields
    const unknown = Object.keys(fields).find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw new InvalidActionError(
        `${subject} may have ${names.join(', ')}, not ${JSON.stringify(unknown.slice(0, 80))}`,
      );
    }
    this.#fields = fields;
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined;
  }

  value(name: string): unknown {
    return this.#fields[name];
  }

  name(name: string): string | undefined {
    const value = this.#fields[name];
    if (value === undefined || isName(value)) return value;
    throw new InvalidActionError(`${name} must be a string of 1 to 512 characters without control characters`);
  }

  requiredName(name: string): string {
    const value = this.name(name);
    if (value === undefined) throw new InvalidActionError(`${name} is missing`);
    return value;
  }

  boolean(name: string): boolean | undefined {
    const value = this.#fields[name];
    if (value === undefined || typeof value === 'boolean') return value;
    throw new InvalidActionError(`${name} must be true or false`);
  }

  number(name: string): number | undefined {
    const value = this.#fields[name];
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    throw new InvalidActionError(`${name} must be a number`);
  }

  names(name: string, max: number): readonly string[] | undefined {
    const value = this.#fields[name];
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.length > 0 && value.length <= max && value.every(isName)) return value;
    throw new InvalidActionError(`${name} must be a list of 1 to ${max} strings`);
  }

  /** Returns a nested object. */
  object(name: string, names: readonly string[]): ActionBody | undefined {
    return this.has(name) ? new ActionBody(this.#fields[name], names, name) : undefined;
  }
}
