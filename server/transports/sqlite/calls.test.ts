import { expect, it, onTestFinished, vi } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { silentLogger } from '../transport.js';
import { CallServer } from './calls.js';
import { Committer } from './database/committer.js';
import type { Database } from './database/driver.js';
import { openOwned } from './database/open-database.js';
import { newFile, openBeside } from './stage.fixture.js';

it('answers a call that could not be read at first', async () => {
  const file = newFile();
  const owned = await openOwned(file, 'normal');
  let failures = 2;
  const database: Database = {
    isTransaction: false,
    exec: (sql) => owned.database.exec(sql),
    close() {},
    prepare(sql) {
      const statement = owned.database.prepare(sql);
      if (!sql.startsWith('SELECT * FROM calls')) return statement;
      return {
        run: (...values) => statement.run(...values),
        get: (...values) => statement.get(...values),
        iterate: (...values) => statement.iterate(...values),
        all(...values) {
          failures -= 1;
          if (failures >= 0) throw new Error('the disk fails');
          return statement.all(...values);
        },
      };
    },
  };
  const committer = new Committer(owned, createFakeClock(), silentLogger);
  const server = new CallServer(database, committer, silentLogger, () => {
    throw new TypeError('no state');
  });
  const beside = await openBeside(file);
  beside.exec("INSERT INTO calls (service, method, arguments, deadline) VALUES ('shop', 'counts', '[[]]', 9e15)");
  await server.open();
  onTestFinished(async () => {
    server.close();
    committer.close();
    await owned.close();
  });
  await vi.waitFor(() => expect(beside.prepare('SELECT answer FROM calls').get()?.['answer']).toContain('no state'), {
    timeout: 20_000,
    interval: 10,
  });
});
