import { expect } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import type { ContractHarness } from '../contract/contract-stage.js';
import { contractCodec, describeTransport } from '../contract/describe-transport.js';
import { maxDeadLetters } from '../contract/records/dead-letters.js';
import { memoryTransport } from '../memory/memory-transport.js';
import { silentLogger } from '../transport.js';
import { BlobTransport } from './blob-transport.js';
import { newBlobs } from './blobs.fixture.js';

// Every content of more than two bytes is a reference.
const setup = async (): Promise<ContractHarness> => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, maxDeadLetters, codec: contractCodec });
  const { store } = newBlobs();
  return {
    connect: (service) =>
      new BlobTransport(transport.connect({ service, logger: silentLogger }), {
        store,
        aboveBytes: 2,
        logger: silentLogger,
      }),
    advance: (ms) => clock.advance(ms),
    now: async () => clock.now(),
    async release() {
      await clock.settle();
      expect(clock.pendingTimers).toBe(0);
    },
  };
};

describeTransport('memory with a codec and blobs', setup, { isInline: false });
