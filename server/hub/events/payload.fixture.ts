import fc from 'fast-check';

const special: fc.Arbitrary<unknown> = fc
  .constantFrom<() => unknown>(
    () => -0,
    () => undefined,
    () => new Date(5),
    () => ({ toJSON: () => [-0] }),
    () => Object.assign(Object.create(null), { b: 1, a: [] }),
    () => Object.assign(new (class Order {})(), { 2: 'x', id: 1, [Symbol('s')]: 1 }),
  )
  .map((create) => create());

/** Values that JSON can encode, among them such that it changes. */
export const payloads: fc.Arbitrary<unknown> = fc
  .letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.jsonValue(),
      special,
      fc.dictionary(fc.string(), tie('value')),
      fc.array(tie('value').filter((value) => value !== undefined)),
    ),
  }))
  .value.filter((value) => JSON.stringify([value]).includes('__proto__') === false);
