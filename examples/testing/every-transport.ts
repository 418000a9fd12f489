import { type HubOptions, memoryTransport } from 'hubline';

/** Transports on which the tests run the guides' examples, with the options of a hub that uses a new one. */
export const everyTransport: readonly (readonly [name: string, options: () => HubOptions])[] = [
  ['memory', () => ({ transport: memoryTransport() })],
];
