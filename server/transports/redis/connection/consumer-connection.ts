import type { Redis } from 'ioredis';
import type { Logger } from '../../logger.js';
import { logOutages, reconnectDelayMs } from './connection-log.js';
import { connectRedis } from './optional-dependencies.js';
import type { RedisSettings } from '../redis-options.js';

// BullMQ waits for a job up to 10 s at a time; a connection silent for longer than that is dead.
const socketTimeoutMs = 15_000;

/** A connection for consuming: what is sent while it is lost is sent again when it is back. */
export async function connectConsumer(settings: RedisSettings, logger: Logger): Promise<Redis> {
  const connection = await connectRedis(settings, {
    maxRetriesPerRequest: null,
    socketTimeout: socketTimeoutMs,
    retryStrategy: reconnectDelayMs,
  });
  logOutages(connection, logger);
  const define = connection.defineCommand.bind(connection);
  connection.defineCommand = (name, definition) =>
    define(name, { ...definition, lua: adaptScript(name, definition.lua) });
  return connection;
}

// Redis stops a script at its first write where memory is used up, unless it has freed some before; what
// BullMQ's consumers run leads to memory being freed, so it must not be stopped.
const runWhereFull = "redis.call('DEL', KEYS[1] .. ':nothing')\n";

/** A script of BullMQ's as consumers run it. */
function adaptScript(name: string, lua: string): string {
  return runWhereFull + (name.startsWith('moveToActive:') ? onServerTime(lua) : lua);
}

// BullMQ decides by the process's clock what is due. Delays are written by the server's: the script gets the
// server's time, and what it answers is told in the process's.
function onServerTime(lua: string): string {
  return `
local localNow = tonumber(ARGV[2])
local time = redis.call('TIME')
local serverNow = time[1] * 1000 + math.floor(time[2] / 1000)
ARGV[2] = string.format('%.0f', serverNow)
local function moveToActive()
${lua}
end
local answer = moveToActive()
if answer[4] ~= 0 then answer[4] = answer[4] + localNow - serverNow end
if type(answer[1]) == 'table' then
  for index = 1, #answer[1], 2 do
    if answer[1][index] == 'processedOn' then answer[1][index + 1] = string.format('%.0f', localNow) end
  end
end
return answer
`;
}
