import { type ServiceTypeCounts, sumCounts } from '../../statistics/stats.js';
import type { TypeCounts } from '../../transport.js';
import { readArray, readString } from '../connection/reply.js';
import { serviceOf } from '../names.js';

/** Returns the reply of `readCounts`. */
export function readCounts(reply: unknown): TypeCounts[] {
  const [serviceTypes, records, details] = readArray(reply);
  const reader = new ShareReader(readArray(records), readArray(details).map(readString));
  return readArray(serviceTypes).map((value) => {
    const services = value === null || value === '' ? [] : readString(value).split(',').map(reader.read);
    const [first] = services;
    const isOnly = first !== undefined && services.length === 1;
    return { total: isOnly ? first.counts : sumCounts(services.map(({ counts }) => counts)), services };
  });
}

const recordLength = 11;
const detailsLength = 8;
const noDetails = new Float64Array(detailsLength);

/** Reads the counts of service types, one after the other. */
class ShareReader {
  readonly #records: readonly unknown[];
  /** By the number of the service type, from 1. */
  readonly #details: ReadonlyMap<number, Float64Array>;
  readonly #services = new Map<string, string>();
  readonly #record = new Float64Array(recordLength);
  #place = 0;

  constructor(records: readonly unknown[], details: readonly string[]) {
    this.#records = records;
    this.#details = new Map(
      details.map((text) => {
        const numbers = new Float64Array(detailsLength);
        readNumbers(text, numbers);
        return [numbers[0] ?? 0, numbers];
      }),
    );
  }

  readonly read = (serviceType: string): TypeCounts['services'][number] => {
    const stored = this.#records[this.#place];
    this.#place += 1;
    readNumbers(stored === null ? '' : readString(stored), this.#record);
    return { service: this.#service(serviceType), counts: sumCounts([this.#counts(this.#place)]) };
  };

  #counts(place: number): ServiceTypeCounts {
    const record = this.#record;
    const details = this.#details.get(place) ?? noDetails;
    return {
      received: record[0] ?? 0,
      completed: record[1] ?? 0,
      failed: record[2] ?? 0,
      cancelled: record[3] ?? 0,
      retried: record[4] ?? 0,
      deduplicated: record[5] ?? 0,
      // Both have 0 for a time that is unknown.
      lastReceivedAt: record[6] || undefined,
      lastFailedAt: record[7] || undefined,
      filtered: record[10] ?? 0,
      active: details[1] ?? 0,
      deadLetters: details[2] ?? 0,
      delayed: details[3] ?? 0,
      suspended: details[4] ?? 0,
      approvals: details[5] ?? 0,
      awaitingVersion: details[6] ?? 0,
      oldestPendingAt: details[7] || undefined,
    };
  }

  #service(serviceType: string): string {
    const encoded = serviceType.slice(0, serviceType.indexOf('/'));
    let service = this.#services.get(encoded);
    if (service === undefined) {
      service = serviceOf(serviceType);
      this.#services.set(encoded, service);
    }
    return service;
  }
}

/** Reads decimal numbers between single spaces. What is not a number counts as 0. */
function readNumbers(text: string, into: Float64Array): void {
  const [space, zero, nine] = [32, 48, 57];
  let index = 0;
  let number = 0;
  for (let at = 0; at < text.length && index < into.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= zero && code <= nine) number = number * 10 + code - zero;
    else if (code === space) {
      into[index] = number;
      index += 1;
      number = 0;
    }
  }
  for (; index < into.length; index += 1) {
    into[index] = number;
    number = 0;
  }
}
