import { expect, it } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { redisStage } from '../redis-stage.fixture.js';

const { server, admin, consume, counts, until } = await redisStage({ emitTimeoutMs: 60_000 });

it('accepts no event for nobody after Redis has lost its data', async () => {
  const web = await consume(['other'], { service: 'web' });
  const mail = await consume(['a'], { service: 'mail' });
  await web.transport.publish([envelope('a')]);
  await until(() => mail.waiting.length === 1);
  for (const lose of [() => admin.flushall(), () => server.stop('SIGKILL').then(() => server.start())]) {
    mail.waiting.splice(0);
    await lose();
    await Promise.all(Array.from({ length: 50 }, () => web.transport.publish([envelope('a')])));
    expect(await counts(web.transport, 'a')).toMatchObject({ received: 50, completed: 0, pending: 50 });
    await until(() => mail.waiting.length === 50);
  }
});
