import { OutputSchemaError, TruncatedOutputError } from '../errors.js';
import type { FinishReason } from '../model/model-provider.js';
import type { OutputSchema } from './output-schema.js';

const maxListedIssues = 10;

/** Problem of an answer: a note that asks the model to correct it, or the error that ends the run. */
export type AnswerProblem = { readonly note: string } | { readonly error: Error };

/** Typed answer of one run. Counts the corrections. */
export class TypedOutput {
  readonly #schema: OutputSchema;
  readonly #agentName: string;
  #retriesLeft: number;
  #data: unknown;

  constructor(schema: OutputSchema, agentName: string, retries: number) {
    this.#schema = schema;
    this.#agentName = agentName;
    this.#retriesLeft = retries;
  }

  /** Validated value of the last answer; `undefined` if that was not valid. */
  get data(): unknown {
    return this.#data;
  }

  /** Reads an answer that an earlier attempt stored. @throws {OutputSchemaError} if another schema accepted it */
  async readAgain(text: string): Promise<void> {
    this.#retriesLeft = 0;
    const problem = await this.read(text, 'stop');
    if (problem !== undefined && 'error' in problem) throw problem.error;
  }

  /** Reads the answer of a turn. Returns its problem, or `undefined` if it is valid. */
  async read(text: string, finishReason: FinishReason): Promise<AnswerProblem | undefined> {
    this.#data = undefined;
    if (finishReason === 'length') return { error: new TruncatedOutputError(this.#agentName) };
    const { issues, ...valid } = await this.#schema.read(text);
    if (issues === undefined) {
      this.#data = 'value' in valid ? valid.value : undefined;
      return undefined;
    }
    if (this.#retriesLeft === 0) return { error: new OutputSchemaError(this.#agentName, issues) };
    this.#retriesLeft--;
    const listed = issues.slice(0, maxListedIssues).map(({ path, message }) => `${path}: ${message}`);
    return {
      note: `Your answer does not match the required JSON Schema: ${listed.join('; ')}. Answer again, with the complete JSON only.`,
    };
  }
}
