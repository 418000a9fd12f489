import fc from 'fast-check';
import { expect, it } from 'vitest';
import { eventIdOf, jobIdOf, serviceOf, serviceTypeOf, typeOf } from './names.js';

const name = fc.string({ unit: 'binary', minLength: 1 });

it('decodes every encoded name, and encodes to names that BullMQ allows', () => {
  fc.assert(
    fc.property(name, name, (service, type) => {
      const serviceType = serviceTypeOf(service, type);
      expect([serviceOf(serviceType), typeOf(serviceType)]).toEqual([service, type]);
      expect(eventIdOf(jobIdOf(type))).toBe(type);
      expect(`${serviceType}${jobIdOf(type)}`).not.toContain(':');
      expect(jobIdOf(type)).not.toMatch(/^\d+$/);
    }),
  );
});
