import { InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { LogBounds } from '../../transports/bounded-log.js';
import { BackpressureError } from '../../transports/errors.js';
import { textsLog } from '../../transports/stored-keys.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import { NotAgentRunError, PayloadTooLargeError, RunEndedError, UnknownRunError } from '../errors.js';
import type { RunTexts, SentText } from '../events/durable-place.js';

/** Options of `hub.send`. */
export interface SendOptions {
  /**
   * Id of the text, 1 to 512 characters without control characters and unpaired surrogates: a run reads one text of each
   * id, however often it is sent. @default a random UUID
   */
  id?: string;
  /** Service of the run, if several handle the event. @default the hub's, or else the first one that is found */
  service?: string;
}

const maxTexts = 1_000;
const maxTextBytes = 16_384;
/** Size of the texts of one turn, beyond its first one: its record must fit into `maxPayloadBytes`. */
const maxTurnBytes = 32_768;
const dayMs = 86_400_000;
// The transport deletes the log with the run. `sendText` refuses what would drop a text, except by age.
const bounds: LogBounds = { maxEntries: 2 * maxTexts, maxBytes: 67_108_864, maxAgeMs: 400 * dayMs };

/** Hub that sends texts to runs. */
export interface TextSender {
  readonly transport: Pick<TransportManager, 'lookup' | 'log' | 'service'>;
  readonly maxPayloadBytes: number;
  /** Returns `true` unless no agent can run in the runs of a type in a service. */
  runsAgents(type: string, service: string): Promise<boolean>;
}

/** @throws {InvalidOptionError} */
export function checkSend(text: string, options: SendOptions): void {
  const check = new OptionChecker(options, ['id', 'service'], 'send');
  check.name('id', options.id);
  check.name('service', options.service);
  const isText = typeof text === 'string' && text.trim() !== '' && text.isWellFormed();
  if (!isText) throw new InvalidOptionError('text of send', 'a text without unpaired surrogates', text, 'type');
}

/** Implements {@link Hub.send}. */
export async function sendText(
  runId: string,
  text: string,
  { id = crypto.randomUUID(), service }: SendOptions,
  sender: TextSender,
): Promise<{ readonly id: string }> {
  const { log } = sender.transport;
  const entry = JSON.stringify({ id, text } satisfies SentText);
  const allowed = Math.min(maxTextBytes, Math.floor(sender.maxPayloadBytes / 4));
  const bytes = Buffer.byteLength(entry);
  if (bytes > allowed) throw new PayloadTooLargeError('a text that is sent to run', runId, bytes, allowed);
  const name = textsLog(await findOwner(runId, service, sender), runId);
  const { first, next } = await log.read(name, { from: Number.MAX_SAFE_INTEGER, limit: 1 });
  if (next - first >= maxTexts) throw new BackpressureError('texts that were sent to a run', `${maxTexts}`);
  await log.append(name, [entry], bounds);
  return { id };
}

/** Returns the service that has the run of an agent. @throws {UnknownRunError | NotAgentRunError | RunEndedError} */
async function findOwner(runId: string, wanted: string | undefined, sender: TextSender): Promise<string> {
  const { lookup, service: own } = sender.transport;
  const found = (await lookup.find(runId)).filter(({ service }) => wanted === undefined || service === wanted);
  const agents = await Promise.all(found.map(({ type, service }) => sender.runsAgents(type, service)));
  const runs = found.filter((_, index) => agents[index]);
  const [first] = found;
  if (first === undefined) throw new UnknownRunError(undefined, runId);
  const open = runs.filter(({ endedAt }) => endedAt === undefined);
  const meant = open.find(({ service }) => service === own) ?? open[0];
  if (meant !== undefined) return meant.service;
  throw runs.length > 0 ? new RunEndedError(runId) : new NotAgentRunError(runId, first.type);
}

/** Texts that were sent to a run, as one delivery of the run reads them. */
export class DeliveredTexts implements RunTexts {
  readonly #log: TransportManager['log'];
  readonly #logger: Logger;
  readonly #runId: string;
  readonly #name: string;
  /** Ids of all texts that were read from the log, or that a recorded turn has. */
  readonly #known = new Set<string>();
  #unread: SentText[] = [];
  /** Sequence number of the next entry of the log to read. */
  #position = 0;

  constructor({ log, service }: Pick<TransportManager, 'log' | 'service'>, runId: string, logger: Logger) {
    this.#log = log;
    this.#logger = logger;
    this.#runId = runId;
    this.#name = textsLog(service, runId);
  }

  async take(): Promise<readonly SentText[]> {
    try {
      await this.#readLog();
    } catch (err) {
      this.#logger.warn({ err, runId: this.#runId }, 'texts that were sent to a run could not be read');
    }
    if (this.#unread.length === 0) return [];
    let bytes = 0;
    const end = this.#unread.findIndex(({ text }, index) => {
      bytes += Buffer.byteLength(text);
      return index > 0 && bytes > maxTurnBytes;
    });
    return this.#unread.splice(0, end === -1 ? this.#unread.length : end);
  }

  replay(texts: readonly SentText[]): void {
    for (const { id } of texts) this.#known.add(id);
  }

  release(texts: readonly SentText[]): void {
    this.#unread.unshift(...texts);
  }

  async #readLog(): Promise<void> {
    const { entries, next } = await this.#log.read(this.#name, { from: this.#position, limit: bounds.maxEntries });
    if (next < this.#position) {
      // All entries were dropped by their age, and the numbers began again.
      this.#position = 0;
      await this.#readLog();
      return;
    }
    for (const { sequence, text } of entries) {
      this.#position = Math.max(this.#position, sequence + 1);
      // `sendText` is the only writer.
      const sent = JSON.parse(text) as SentText;
      if (!this.#known.has(sent.id)) this.#unread.push(sent);
      this.#known.add(sent.id);
    }
  }
}
