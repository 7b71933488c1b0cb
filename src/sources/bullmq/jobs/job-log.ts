/**
 * The log of a job: a list of lines in Redis, each of any length, of which Redis cannot return a part. So the size of
 * the list is read before any line, and the lines are read a few at a time.
 */
import type { TaskLog } from '../../../model.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { asCount, asNumber, asTexts } from '../../../redis/replies.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { JobRef } from '../access/queue-ref.ts';

/** How many of the latest lines are shown, and how many characters of them in all. */
const MOST_LINES = 100;
const MOST_LOG = 65_536;
/** Longest part of a line that is kept, in characters. More than is shown, to recognize secrets. */
const LONGEST_LINE = 4_096;
/** Lines that are read first, to see how long they are. */
const FIRST_LINES = 5;
/**
 * Bytes that are read at most, as estimated from the first lines and the size of the list: three times the kept size,
 * because for 64 clients with 64 jobs at once, Redis would otherwise send more than can be read without delaying the
 * host.
 */
const BUDGET = 196_608;
/** A list of lines that are longer on average is not read, in bytes. */
const LARGEST = 1_048_576;

/** The latest lines of the job's log, without secrets. */
export async function readJobLog(
  access: QueueAccess,
  { queue, id }: JobRef,
  options: ReadOptions,
): Promise<TaskLog> {
  const key = queue.key(`${id}:logs`);
  const replies = await access.read(
    [
      { queue, command: ['LLEN', key] },
      // The user may not be allowed to run the command.
      { queue, command: ['MEMORY', 'USAGE', key, 'SAMPLES', '20'], isOptional: true },
    ],
    options,
  );
  const total = asCount(replies[0]);
  if (total === 0) return { lines: [], total };
  const average = (asNumber(replies[1]) ?? 0) / total;
  if (average > LARGEST) return { lines: [`<lines of ${Math.round(average)} bytes each>`], total };
  const read = async (count: number): Promise<readonly string[]> => {
    const command = ['LRANGE', key, String(-count), '-1'] as const;
    const [reply] = await access.read([{ queue, command }], options);
    return asTexts(reply);
  };
  let lines = await read(FIRST_LINES);
  const longest = Math.max(average, ...lines.map((line) => line.length));
  const most = Math.min(MOST_LINES, Math.floor(BUDGET / Math.max(1, longest)));
  if (total > FIRST_LINES && most > FIRST_LINES) lines = await read(most);
  const { signal } = options;
  const waiter = signal === undefined ? undefined : { signal };
  return { lines: await scheduler.run('detail', showLines(access, lines), waiter), total };
}

/** The lines without secrets. In steps, so that many concurrent logs do not take one long turn. */
function* showLines({ redactor }: QueueAccess, lines: readonly string[]): Steps<readonly string[]> {
  const text = kept(lines).join('\n');
  yield;
  const shown = redactor === null ? text : redactor.text(text, 'log');
  yield;
  return shown.split('\n').slice(-MOST_LINES);
}

/** The latest lines that fit, each cut. */
function kept(lines: readonly string[]): readonly string[] {
  const some: string[] = [];
  let left = MOST_LOG;
  for (const line of lines.toReversed()) {
    const part = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    left -= part.length;
    if (left < 0) break;
    some.unshift(part);
  }
  return some;
}
