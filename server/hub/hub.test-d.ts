import { expectTypeOf } from 'vitest';
import type { BlobStore } from '../transports/blobs/blob-store.js';
import { folderBlobs } from '../transports/blobs/folder-blobs.js';
import type { EventMetrics } from '../transports/statistics/stats.js';
import type { Transport } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import type { Hub, StopResult } from './hub.js';

declare const transport: Transport;

expectTypeOf(createHub()).toEqualTypeOf<Hub>();
createHub({ service: 'shop', transport, concurrency: 5, maxPayloadBytes: 1_024, allowCycles: true, observer: false });
createHub({ logger: console });

createHub({ blobs: folderBlobs('blobs'), blobsAboveBytes: 100_000 });
createHub({ blobs: { put: async () => {}, get: async () => new Uint8Array(), delete: async () => {} } });
expectTypeOf(folderBlobs('blobs')).toEqualTypeOf<BlobStore>();

// @ts-expect-error a store deletes
createHub({ blobs: { put: async () => {}, get: async () => undefined } });
// @ts-expect-error a store returns bytes
createHub({ blobs: { put: async () => {}, get: async () => 'text', delete: async () => {} } });
// @ts-expect-error unknown option
createHub({ services: 'shop' });
// @ts-expect-error concurrency is a number
createHub({ concurrency: '5' });
// @ts-expect-error the logger lacks methods
createHub({ logger: { info() {} } });
// @ts-expect-error a transport has connect
createHub({ transport: {} });

const hub = createHub();
expectTypeOf(await hub.start()).toEqualTypeOf<void>();
expectTypeOf(await hub.stop()).toEqualTypeOf<StopResult>();
expectTypeOf<StopResult['released']>().toEqualTypeOf<number>();
await hub.stop({ drainMs: 5_000 });
// @ts-expect-error misspelt option
await hub.stop({ drainMS: 5_000 });

expectTypeOf(await hub.metrics('a')).toEqualTypeOf<EventMetrics>();
expectTypeOf(await hub.replay('id')).toEqualTypeOf<{ readonly id: string }>();
expectTypeOf(await hub.revision()).toEqualTypeOf<string>();
// @ts-expect-error metrics are read by name
await hub.metrics(hub.event({ type: 'a' }));
