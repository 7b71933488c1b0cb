import { Redis } from 'ioredis';

/**
 * Writes jobs as BullMQ does (bullmq, includes/storeJob.lua), thousands at a time. Adding them one by one would take
 * minutes.
 */
const FILL = `
local prefix, part, first, count, time, step = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local extra = cjson.decode(ARGV[6])
for i = first, first + count - 1 do
  local id = tostring(i)
  local at = string.format('%.0f', time + math.floor((i - 1) * step))
  local key = prefix .. id
  redis.call('HSET', key, 'name', 'job-' .. (i % 7), 'data', '{"n":' .. id .. '}', 'opts', '{"attempts":1}',
    'timestamp', at, 'delay', '0', 'priority', '0')
  for field, value in pairs(extra) do redis.call('HSET', key, field, value) end
  if part == 'wait' then redis.call('LPUSH', prefix .. 'wait', id)
  elseif part == 'delayed' then
    redis.call('HSET', key, 'delay', '3600000')
    redis.call('ZADD', prefix .. 'delayed', string.format('%.0f', (tonumber(at) + 3600000) * 4096), id)
  elseif part == 'prioritized' then
    local priority = 1 + i % 3
    redis.call('HSET', key, 'priority', priority)
    redis.call('ZADD', prefix .. 'prioritized', string.format('%.0f', priority * 4294967296 + i), id)
  else
    redis.call('HSET', key, 'processedOn', at, 'finishedOn', at, 'atm', 1, 'returnvalue', '{"ok":true}')
    redis.call('ZADD', prefix .. part, at, id)
  end
end
redis.call('INCRBY', prefix .. 'id', count)
return 1`;

/** Which jobs to write. */
export interface Filling {
  readonly queue: string;
  readonly part: 'wait' | 'delayed' | 'prioritized' | 'completed' | 'failed';
  readonly count: number;
  /** The first id. Default 1. */
  readonly first?: number;
  /** Time of id 1, in milliseconds, and how much later each next one is. Default 1. */
  readonly time: number;
  readonly step?: number;
  /** More fields of each hash. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly prefix?: string;
}

/** Fills queues of the Redis at this port. */
export async function fillQueues(port: number, ...fillings: readonly Filling[]): Promise<void> {
  const redis = new Redis(port, '127.0.0.1');
  try {
    for (const { queue, part, count, first = 1, time, step = 1, fields = {}, prefix = 'bull' } of fillings) {
      const key = `${prefix}:${queue}:`;
      await redis.hset(`${key}meta`, 'opts.maxLenEvents', '10000', 'version', 'bullmq:6.7.0');
      for (let done = 0; done < count; done += 5_000) {
        const now = Math.min(5_000, count - done);
        await redis.eval(FILL, 1, key, part, first + done, now, time, step, JSON.stringify(fields));
      }
    }
  } finally {
    redis.disconnect();
  }
}
