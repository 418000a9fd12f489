import { expect, it } from 'vitest';
import { frameworks } from './frameworks.fixture.js';
import { basicAuth, bearer, createDashboardFetch, createDashboardHandler, type DashboardGuard } from './index.js';
import { startTestHub } from './test-hub.fixture.js';
import { serve } from './test-server.fixture.js';

type Ask = (path: string, authorization?: string) => Promise<{ status: number; challenge: unknown; body: string }>;

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const secrets: readonly (readonly [string, DashboardGuard, string, string, readonly string[]])[] = [
  [
    'basicAuth',
    basicAuth({ user: 'wörd', password: 'a:b c' }),
    basic('wörd:a:b c'),
    'Basic realm="hub", charset="UTF-8"',
    [basic('wörd:a:b'), basic('wörd:'), basic(''), basic('wörd:a:b c').slice(6), 'Bearer a:b c', 'Basic'],
  ],
  [
    'bearer',
    bearer('t0k=n'),
    'Bearer t0k=n',
    'Bearer realm="hub"',
    ['Bearer t0k=', 'Bearer', 't0k=n', 'Basic t0k=n', 'Bearer t0k=n x'],
  ],
];
const paths = ['/', '/api/introspection', '/api/events/order.created'];

async function expectGuarded(ask: Ask, right: string, challenge: string, wrong: readonly string[]): Promise<void> {
  for (const path of paths) {
    for (const accepted of [right, right.toLowerCase().slice(0, 6) + right.slice(6)]) {
      expect([path, (await ask(path, accepted)).status]).toEqual([path, 200]);
    }
    for (const authorization of [undefined, '', ...wrong]) {
      const refused = await ask(path, authorization);
      expect([path, authorization, refused.status, refused.challenge]).toEqual([path, authorization, 401, challenge]);
      expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'ERR_UNAUTHORIZED' } });
    }
  }
}

it.each(
  Object.entries(frameworks).flatMap(([name, mount]) =>
    secrets.map((secret) => [name, secret[0], mount, secret] as const),
  ),
)('guards the dashboard in %s with %s', async (_, __, mount, [, guard, right, challenge, wrong]) => {
  const { hub } = await startTestHub();
  const server = await serve(await mount(createDashboardHandler(hub, { basePath: '/', ...guard }), '/'));
  const ask: Ask = async (path, authorization) => {
    const { status, headers, body } = await server.get(path, authorization === undefined ? {} : { authorization });
    return { status, challenge: headers['www-authenticate'], body: body.toString() };
  };
  await expectGuarded(ask, right, challenge, wrong);
});

it.each(secrets)('guards createDashboardFetch with %s', async (_, guard, right, challenge, wrong) => {
  const { hub } = await startTestHub();
  const dashboard = createDashboardFetch(hub, guard);
  const ask: Ask = async (path, authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await dashboard(new Request(`http://127.0.0.1${path}`, { headers }));
    return {
      status: response.status,
      challenge: response.headers.get('www-authenticate'),
      body: await response.text(),
    };
  };
  await expectGuarded(ask, right, challenge, wrong);
});

it.each<[string, () => DashboardGuard]>([
  [
    'user of basicAuth must be a text without a colon, not empty, got a string',
    () => basicAuth({ user: 's3cret:', password: 'p' }),
  ],
  ['password of basicAuth must be a text, not empty, got', () => basicAuth({ user: 'admin', password: '' })],
  [
    'password of basicAuth must be a text, not empty, got undefined',
    () => Reflect.apply(basicAuth, undefined, [{ user: 's3cret' }]),
  ],
  [
    'option of basicAuth must be one of user, password',
    () => Reflect.apply(basicAuth, undefined, [{ user: 'a', pasword: 's3cret' }]),
  ],
  ['options of basicAuth must be an object', () => Reflect.apply(basicAuth, undefined, ['s3cret'])],
  ['token of bearer must be visible ASCII characters, one or more, got', () => bearer('')],
  ['token of bearer must be visible ASCII characters, one or more, got', () => bearer('s3cret s3cret')],
  [
    'token of bearer must be visible ASCII characters, one or more, got undefined',
    () => Reflect.apply(bearer, undefined, []),
  ],
])('refuses with "%s", and without the secret', (message, create) => {
  expect(create).toThrow(message);
  expect(create).not.toThrow('s3cret');
});
