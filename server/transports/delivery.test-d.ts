import { expectTypeOf } from 'vitest';
import { type Envelope, sizeOf } from './delivery.js';

declare const envelope: Envelope;

expectTypeOf(envelope.body).toEqualTypeOf<string>();
expectTypeOf({ ...envelope, body: envelope.body, id: 'other' }).toExtend<Envelope>();
sizeOf({ ...envelope, body: 'null' });

// @ts-expect-error the copy has no body
sizeOf({ ...envelope, id: 'other' });
// @ts-expect-error the copy has no body
sizeOf({ ...envelope });
