import { describe, expect, it } from 'vitest';
import { type SignatureCheck, verifyGitHub, verifyStandardWebhooks, verifyStripe } from './webhook-signatures.js';

interface Signed {
  readonly name: string;
  readonly create: (secret: string | readonly string[]) => SignatureCheck;
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly id: string | undefined;
  /** Time of the signature in epoch seconds; `undefined` if it has none. */
  readonly at?: number;
  /** Header with the signature. */
  readonly signature: string;
  /** The same header with another signature before the right one. */
  readonly rotated?: string;
}

const stripeBody = `{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "cus_123",
      "object": "customer",
      "created": 123456789,
      "email": "test@stripe.com",
      "livemode": false,
      "metadata": {}
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "customer.created"
}
`;
const stripeSignature = '2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7';
const standardSignature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

// Test vectors that the vendors publish.
const vectors: readonly Signed[] = [
  {
    // stripe-dotnet, src/StripeTests/Services/Events/EventUtilityTest.cs
    name: 'Stripe',
    create: (secret) => verifyStripe({ secret }),
    secret: 'webhook_secret',
    body: stripeBody,
    headers: {
      'stripe-signature': `t=1533204620,v1=${stripeSignature},v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef`,
    },
    id: 'evt_123',
    at: 1_533_204_620,
    signature: 'stripe-signature',
    rotated: `t=1533204620,v1=${'0'.repeat(64)},v1=${stripeSignature}`,
  },
  {
    // docs.github.com, "Validating webhook deliveries"
    name: 'GitHub',
    create: (secret) => verifyGitHub({ secret }),
    secret: "It's a Secret to Everybody",
    body: 'Hello, World!',
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    },
    id: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    signature: 'x-hub-signature-256',
  },
  {
    // github.com/standard-webhooks, reference libraries
    name: 'Standard Webhooks',
    create: (secret) => verifyStandardWebhooks({ secret }),
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    body: '{"test": 2432232314}',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': standardSignature,
    },
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    at: 1_614_265_330,
    signature: 'webhook-signature',
    rotated: `v1,AAAA ${standardSignature} v1a,AAAA`,
  },
];

describe.each(vectors)(
  'the signatures of $name',
  ({ create, secret, body, headers, id, at = 0, signature, rotated }) => {
    const verify = (
      check: SignatureCheck,
      {
        text = body,
        changed = {},
        lateMs = 0,
      }: { text?: string; changed?: Record<string, string>; lateMs?: number } = {},
    ) => {
      const all: Record<string, string | undefined> = { ...headers, ...changed };
      return check({ body: Buffer.from(text), header: (name) => all[name], now: at * 1_000 + lateMs });
    };

    it('match the published test vector', () => {
      expect(verify(create(secret))).toEqual({ id });
    });

    it('match one of several secrets, and one of several signatures', () => {
      const other = Buffer.from('another secret, of 16 bytes or more').toString('base64');
      expect(verify(create([other, secret]))).toEqual({ id });
      expect(verify(create(other))).toBeNull();
      if (rotated !== undefined) expect(verify(create(secret), { changed: { [signature]: rotated } })).toEqual({ id });
    });

    it('do not match another body, or other headers', () => {
      expect(verify(create(secret), { text: `${body} ` })).toBeNull();
      const right = (headers[signature] ?? '').replace(/,v0=.*/, '');
      const wrong = [
        '',
        'x',
        right.slice(0, -2),
        `${right}0`,
        right.toUpperCase(),
        right.replace(/[0-9](?=[^0-9]*$)/, 'x'),
      ];
      for (const value of wrong)
        expect([value, verify(create(secret), { changed: { [signature]: value } })]).toEqual([value, null]);
    });

    it.runIf(at > 0)('do not match after or before 5 minutes', () => {
      expect(verify(create(secret), { lateMs: 300_000 })).toEqual({ id });
      expect(verify(create(secret), { lateMs: 300_001 })).toBeNull();
      expect(verify(create(secret), { lateMs: -300_001 })).toBeNull();
    });

    it('refuse a secret that is not set, and never name one', () => {
      for (const wrong of ['', [], [secret, ''], undefined]) {
        expect(() => create(wrong as string)).toThrow(/secret of verify\w+ must be/);
      }
      expect(() => create([secret, 7] as never)).not.toThrow(secret);
    });
  },
);

it('matches the headers of Svix', () => {
  const headers: Record<string, string> = {
    'svix-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'svix-timestamp': '1614265330',
    'svix-signature': standardSignature,
  };
  const check = verifyStandardWebhooks({ secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
  const request = { body: Buffer.from('{"test": 2432232314}'), header: (name: string) => headers[name] };
  expect(check({ ...request, now: 1_614_265_330_000 })).toEqual({ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek' });
});

it.each(['whsec_c2hvcnQ=', 'whsec_not base64 at all, and long', 'whsec_'])('refuses the key %s', (secret) => {
  expect(() => verifyStandardWebhooks({ secret })).toThrow(
    /base64 of 16 bytes or more, such as whsec_..., got a string/,
  );
});
